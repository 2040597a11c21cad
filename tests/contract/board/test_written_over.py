"""What another program writes over one key, field or member of the board costs no job but its own, and stops nobody."""

import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest
import redis

from querymill.client.events.watch import Watch
from querymill_shared.board import ValkeyBoard, Verdict, keys, lives
from querymill_shared.board.labelling import label_mark, marked
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.submit_options import SubmitOptions
from tests.fixtures.boards import claimed, open_watched, watched
from tests.fixtures.tallies import until

EMBED: Final = EmbedTexts(collection="acme", texts=(TextToEmbed(id="1", text="a"),), into="table")
LABELLED: Final = SubmitOptions(labels={"session": "42"})
SUPERSEDING: Final = SubmitOptions(supersedes={"session": "42"})
LARGEST: Final = 2**63 - 1
_ODD: Final[Sequence[Any]] = (None, [1], True, {})


def question(number: int, collection: str = "filings") -> ReportSearch:
    return ReportSearch(query=f"revenue of {number}?", collection=collection, deadline=60)


def key_of(job_id: str, part: str = "job") -> str:
    return keys.of_job(job_id, part)[0]


def state_of(board: ValkeyBoard, job_id: str) -> str:
    return board.picture(job_id).for_caller().record.state


def replace(server: redis.Redis, key: str) -> None:
    server.delete(key)
    server.set(key, "x")


def submit_beside(board: ValkeyBoard, job_id: str, submit: Callable[[int], str]) -> str:
    """Submit jobs until one is in the shard of another, and return it."""
    found = next(each for each in map(submit, range(100, 1_000)) if each[0] == job_id[0])
    assert board.picture(found).record.state == "queued"
    return found


# What is the job's own.


@pytest.mark.parametrize(
    ("part", "field", "written"),
    [
        *(("job", "labels", json.dumps({"user": odd})) for odd in _ODD),
        ("steps", "embed.past", "[1e999,1,1,1,1,1,1,1]"),
    ],
)
def test_a_job_ends_whatever_stands_in_its_record(
    board: ValkeyBoard, server: redis.Redis, part: str, field: str, written: str
) -> None:
    job_id, _ = board.submit(EMBED, SubmitOptions(labels={"user": "ada"}))
    server.hset(key_of(job_id, part), field, written)
    assert board.settle(job_id, Verdict("failed", reason="it fails"))
    assert state_of(board, job_id) == "failed"


@pytest.mark.parametrize("attempt", [LARGEST, 10**20 - 1, "x"])
def test_a_step_is_claimed_whatever_its_number_of_attempts(
    board: ValkeyBoard, server: redis.Redis, attempt: Any
) -> None:
    job_id, _ = board.submit(EMBED)
    server.hset(key_of(job_id, "steps"), "embed.attempt", attempt)
    assert claimed(board, job_id, "embed").attempt == 1


def test_a_step_is_put_back_whatever_its_number_of_deaths(board: ValkeyBoard, server: redis.Redis) -> None:
    job_id, _ = board.submit(EMBED)
    board.beat("dead#1", {})
    board.claim_steps(job_id, "embed", life="dead#1", limit=1)
    server.hset(key_of(job_id, "steps"), "embed.deaths", LARGEST)
    assert board.release_life("dead#1") == [(job_id, "embed")]


def test_a_job_goes_on_though_the_ids_of_its_events_are_used_up(board: ValkeyBoard, server: redis.Redis) -> None:
    job_id, _ = board.submit(EMBED)
    server.xadd(key_of(job_id, "events"), {"type": "x", "body": "y"}, id=f"{2**64 - 1}-{2**64 - 1}")
    claimed(board, job_id, "embed")
    assert [event.type for _, event in board.events(job_id)] == ["stage_started"]


def test_a_search_is_marked_though_its_list_of_what_was_forgotten_cannot_be_read(
    board: ValkeyBoard, server: redis.Redis
) -> None:
    job_id, _ = board.submit(question(1))
    server.hset(key_of(job_id), "forgets", "x")
    assert board.mark_forgotten(job_id, ["a1"], is_write=False)


# What names another job.


@pytest.mark.parametrize("written", ["x", "", None])
def test_a_former_question_without_a_time_is_superseded_and_costs_the_later_one_nothing(
    board: ValkeyBoard, server: redis.Redis, written: str | None
) -> None:
    spoiled, _ = board.submit(question(1), LABELLED)
    former, _ = board.submit(question(2), LABELLED)
    if written is None:
        server.hdel(key_of(spoiled), "created")
    else:
        server.hset(key_of(spoiled), "created", written)
    board.submit(question(3), SUPERSEDING)
    assert state_of(board, former) == "cancelled"


@pytest.mark.parametrize("written_over", ["labels", "callers"])
def test_a_former_question_that_was_written_over_costs_the_later_one_nothing(
    board: ValkeyBoard, server: redis.Redis, written_over: str
) -> None:
    spoiled, _ = board.submit(question(1), LABELLED)
    former, _ = board.submit(question(2), LABELLED)
    if written_over == "labels":
        server.hset(key_of(spoiled), "labels", '{"session":null}')
    else:
        replace(server, key_of(spoiled, "callers"))
    board.submit(question(3), SUPERSEDING)
    assert state_of(board, former) == "cancelled"


def test_a_job_that_is_listed_among_those_to_supersede_is_cancelled_only_if_it_says_so(
    board: ValkeyBoard, server: redis.Redis
) -> None:
    labelled, _ = board.submit(question(1), LABELLED)
    other = submit_beside(board, labelled, lambda number: board.submit(question(number, "secret"))[0])
    (rivals,) = server.scan_iter(f"qm:{{{labelled[0]}}}:rivals:*")
    server.sadd(rivals, other)
    board.submit(question(3), SUPERSEDING)
    assert state_of(board, other) == "queued"


@pytest.mark.parametrize("verdict", [Verdict("cancelled"), Verdict("done", result='{"x":1}')])
def test_a_job_that_names_a_leader_by_mistake_does_not_end_it(
    board: ValkeyBoard, server: redis.Redis, verdict: Verdict
) -> None:
    mine, _ = board.submit(EMBED)
    other = submit_beside(board, mine, lambda _: board.submit(EMBED)[0])
    server.hset(key_of(mine), "leader", other)
    board.settle(mine, verdict)
    assert state_of(board, other) == "queued"


def test_work_ends_none_but_its_own_followers(board: ValkeyBoard, server: redis.Redis) -> None:
    mine, _ = board.submit(question(1))
    board.submit(question(1))
    other = submit_beside(board, mine, lambda number: board.submit(question(number, "secret"))[0])
    same = board.picture(other).request
    assert same is not None
    follower = board.submit(same)[0]
    server.sadd(key_of(mine, "callers"), follower)
    board.settle(mine, Verdict("done", result=json.dumps({"job_id": mine})))
    assert state_of(board, follower) == "queued"


def test_a_search_joins_none_but_the_same_question(board: ValkeyBoard, server: redis.Redis) -> None:
    mine, _ = board.submit(question(1))
    other = submit_beside(board, mine, lambda number: board.submit(question(number, "secret"))[0])
    for key in server.scan_iter(f"qm:{{{mine[0]}}}:inflight:*"):
        server.set(key, str(server.get(key)).replace(mine, other))
    assert board.submit(question(1))[1]


def test_a_step_of_a_worker_that_lives_is_not_put_back_with_those_of_a_dead_one(
    board: ValkeyBoard, server: redis.Redis
) -> None:
    job_id, _ = board.submit(EMBED)
    for life in ("dead#1", "lives#1"):
        board.beat(life, {})
    board.claim_steps(job_id, "embed", life="lives#1", limit=1)
    server.sadd(keys.held(job_id[0], "dead#1"), f"{job_id} embed 1")
    assert board.release_life("dead#1") == []


# What jobs share.


def test_questions_are_superseded_though_the_list_of_former_ones_was_replaced(
    board: ValkeyBoard, server: redis.Redis
) -> None:
    first, _ = board.submit(question(1), LABELLED)
    for key in server.scan_iter("qm:{?}:rivals:*"):
        replace(server, key)
    later = submit_beside(board, first, lambda number: board.submit(question(number), LABELLED)[0])
    board.submit(question(3), SUPERSEDING)
    assert state_of(board, later) == "cancelled"


def test_jobs_are_listed_under_their_label_though_that_list_was_replaced(
    board: ValkeyBoard, server: redis.Redis
) -> None:
    first, _ = board.submit(question(1), LABELLED)
    replace(server, marked(first[0], label_mark("session", "42")))
    later = submit_beside(board, first, lambda number: board.submit(question(number), LABELLED)[0])
    assert later in board.recent(labels={"session": "42"}, limit=1_000)


@pytest.mark.parametrize("part", ["recent", "dead", "trails"])
def test_the_lists_of_other_shards_are_read_though_that_of_one_was_replaced(
    board: ValkeyBoard, server: redis.Redis, part: str
) -> None:
    job_id, _ = board.submit(EMBED)
    board.settle(job_id, Verdict("dead", reason="it kills its workers"))
    other = keys.SHARDS[(keys.SHARDS.index(job_id[0]) + 1) % len(keys.SHARDS)]
    replace(server, keys.prefix(other) + part)
    listed = {"recent": board.recent, "dead": board.dead, "trails": lambda: board.past(until=time.time() + 10)}
    assert listed[part]() == [job_id]


def test_the_past_of_a_shard_is_listed_again_after_its_list_was_replaced(
    board: ValkeyBoard, server: redis.Redis
) -> None:
    job_id, _ = board.submit(EMBED)
    replace(server, f"{keys.prefix(job_id[0])}trails")
    board.settle(job_id, Verdict("cancelled"))
    assert board.past(until=time.time() + 10) == [job_id]


@pytest.mark.parametrize("field", ["search", "pace:search"])
def test_a_report_of_a_backlog_that_another_program_wrote_refuses_no_job(
    board: ValkeyBoard, server: redis.Redis, field: str
) -> None:
    """One without an end, which no report after it replaces, would refuse them for ever."""
    for shard in keys.SHARDS:
        server.hset(keys.backlog(shard), field, "99999999" if field == "search" else "999999 0 1 0")
    assert board.submit(question(1))[1]


def test_a_dead_worker_with_a_beat_of_the_far_future_is_noticed(board: ValkeyBoard, server: redis.Redis) -> None:
    board.beat("dead#1", {"queues": ["search"], "slots": 8, "busy": 0})
    server.zadd(keys.WORKERS, {"dead#1": 9e15})
    board.beat("lives#1", {})
    assert (server.zscore(keys.WORKERS, "dead#1") or 0) <= time.time() * 1_000 + 1_000
    assert lives.listening(board.workers())


def test_collections_are_announced_again_after_their_record_was_replaced(
    board: ValkeyBoard, server: redis.Redis
) -> None:
    board.announce("reports", ["acme"])
    replace(server, keys.COLLECTIONS)
    assert board.unannounced(["reports"]) == ["reports"]
    board.announce("reports", ["acme"])
    assert board.collections("reports") == {"acme"}


# Who waits.


@pytest.mark.parametrize("asked", ["results", "unattended"])
def test_other_jobs_are_looked_at_though_one_was_written_over(
    board: ValkeyBoard, server: redis.Redis, asked: str
) -> None:
    spoiled, other = (board.submit(question(number))[0] for number in (1, 2))
    if asked == "results":
        board.settle(other, Verdict("done", result=json.dumps({"job_id": other})))
    for part in ("steps", "result"):
        server.delete(key_of(spoiled, part))
    server.set(key_of(spoiled, "steps"), "x")
    server.rpush(key_of(spoiled, "result"), "x")
    with watched(board) as watching:
        if asked == "results":
            assert watching.results([spoiled, other]) == [None, json.dumps({"job_id": other})]
        else:
            assert list(watching.unattended([spoiled, other])) == [other]


def test_a_process_hears_the_ends_of_its_jobs_though_its_stream_was_replaced(
    board: ValkeyBoard, server: redis.Redis
) -> None:
    watch, told = Watch(lambda: open_watched(board)), dict[str, str]()

    def wait_for(job_id: str) -> None:
        told[job_id] = watch.end(job_id, until=time.monotonic() + 20).told[-1].type

    jobs = [board.submit(question(1))[0], ""]
    waiting = [threading.Thread(target=wait_for, args=(jobs[0],))]
    waiting[0].start()
    try:
        until(lambda: server.hget(key_of(jobs[0]), "watch"), within_s=10)
        watcher = str(server.hget(key_of(jobs[0]), "watch")).partition(":")[0]
        unused = keys.SHARDS[(keys.SHARDS.index(jobs[0][0]) + 1) % len(keys.SHARDS)]
        server.set(f"{keys.prefix(unused)}watch:{watcher}", "x")
        jobs[1] = board.submit(question(2))[0]
        waiting.append(threading.Thread(target=wait_for, args=(jobs[1],)))
        waiting[1].start()
        until(lambda: server.hget(key_of(jobs[1]), "watch"), within_s=10)
        for job_id in jobs:
            board.settle(job_id, Verdict("cancelled"))
        for thread in waiting:
            thread.join(30)
        assert told == dict.fromkeys(jobs, "cancelled")
    finally:
        watch.close()
