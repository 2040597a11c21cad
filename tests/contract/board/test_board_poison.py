"""What others write onto a real board: no element of it stops the sweep, the election, or a job beside it."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from querymill_shared.board import Due, Outcome, ValkeyBoard, Verdict, calls, keys
from querymill_shared.board.scripts import digest
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.contracts.errors import UnreadableJob
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.settings import Settings
from tests.fixtures.boards import empty_board

#: A version of a search that no worker of this release knows.
NEWER = ReportSearch.newest_version + 1

EMBED = EmbedTexts(collection="acme", texts=(TextToEmbed(id="1", text="a"),), into="result")
SEARCH = ReportSearch(query="revenue?", collection="filings", deadline=0.01)
TERM_S = 2.0


@pytest.fixture
def board(valkey_url: str) -> Iterator[ValkeyBoard]:
    with empty_board(Settings(redis_url=valkey_url, querymill_ring_grace_s=0.001)) as opened:
        yield opened


def due_key(shard: str) -> str:
    return keys.prefix(shard) + "due"


def swept(board: ValkeyBoard, job_id: str) -> set[Due]:
    """Sweep until the job's own entries came, and return them."""
    found: set[Due] = set()
    for _ in range(200):
        found |= {due for due in board.due() if due.job_id == job_id}
        if {due.past_deadline for due in found} == {True, False}:
            break
    return found


MEMBERS = ("poison", "a b c", "", " ", "nobody original", "nobody @deadline", "x" * 100_000, "\x00 \x00", "🙂 é")


@pytest.mark.parametrize("member", MEMBERS)
def test_a_due_member_that_is_none_is_removed_and_the_jobs_beside_it_are_swept(
    board: ValkeyBoard, server: redis.Redis, member: str
) -> None:
    job_id, _ = board.submit(SEARCH)
    server.zadd(due_key(job_id[0]), {member: 1})
    assert swept(board, job_id) == {Due(job_id, "original"), Due(job_id, None, past_deadline=True)}
    assert server.zscore(due_key(job_id[0]), member) is None
    assert board.counts().due_dropped == (len(member.split()) != 2)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(members=st.lists(st.binary(max_size=60), min_size=1, max_size=5))
def test_no_bytes_among_the_due_stop_a_sweep(board: ValkeyBoard, server: redis.Redis, members: list[bytes]) -> None:
    job_id, _ = board.submit(SEARCH)
    server.zadd(due_key(job_id[0]), dict.fromkeys(members, 1))
    assert swept(board, job_id) == {Due(job_id, "original"), Due(job_id, None, past_deadline=True)}
    board.release(job_id)


def test_a_step_that_the_job_does_not_have_is_removed(board: ValkeyBoard, server: redis.Redis) -> None:
    job_id, _ = board.submit(SEARCH)
    server.zadd(due_key(job_id[0]), {f"{job_id} nothing": 1})
    assert Due(job_id, "nothing") not in swept(board, job_id)
    assert server.zscore(due_key(job_id[0]), f"{job_id} nothing") is None


@pytest.mark.parametrize("other", ["string", "list"])
def test_a_due_list_of_another_type_is_removed_and_the_other_shards_are_swept(
    board: ValkeyBoard, server: redis.Redis, other: str
) -> None:
    job_id, _ = board.submit(SEARCH)
    shard = keys.SHARDS[(keys.SHARDS.index(job_id[0]) + 1) % 16]
    if other == "string":
        server.set(due_key(shard), "x")
    else:
        server.rpush(due_key(shard), "x")
    assert len(swept(board, job_id)) == 2
    assert not server.exists(due_key(shard))


def write_term(server: redis.Redis) -> None:
    server.set(keys.sweeper("5"), "nobody")


def write_long_term(server: redis.Redis) -> None:
    server.set(keys.sweeper("5"), "nobody", ex=86_400)


def write_list(server: redis.Redis) -> None:
    server.rpush(keys.sweeper("5"), "nobody")


@pytest.mark.parametrize("write", [write_term, write_long_term, write_list])
def test_an_election_that_somebody_wrote_ends_after_a_term(
    board: ValkeyBoard, server: redis.Redis, write: Callable[[redis.Redis], None]
) -> None:
    write(server)
    # Of a key that is no string, the next look finds nothing any more.
    assert board.elect("us", "5", term_s=TERM_S) == ""
    left_ms: Any = server.pttl(keys.sweeper("5"))
    assert 0 <= left_ms <= TERM_S * 1000


def changed(request: str, **fields: Any) -> str:
    return json.dumps(json.loads(request) | fields)


UNREADABLE: dict[str, Callable[[str], str]] = {
    "a version of a newer release": lambda request: changed(request, version=NEWER),
    "a value of a newer release": lambda request: changed(request, lane="express"),
    "an unknown kind": lambda request: changed(request, kind="songs"),
    "no JSON": lambda request: request[:-5],
    "gone": lambda _: "",
}


@pytest.mark.parametrize("how", UNREADABLE)
def test_a_request_that_cannot_be_read_is_shown_as_such(board: ValkeyBoard, server: redis.Redis, how: str) -> None:
    job_id, _ = board.submit(SEARCH.model_copy(update={"deadline": 5}))
    (key,) = keys.of_job(job_id, "request")
    server.set(key, UNREADABLE[how](str(server.get(key))))
    picture = board.picture(job_id)
    assert picture.request is None
    assert ": " in picture.unreadable
    assert "revenue" not in picture.unreadable
    with pytest.raises(UnreadableJob, match=re.escape(picture.unreadable)):
        board.claim(job_id, "original")


def submitted(board: ValkeyBoard, server: redis.Redis, **changes: Any) -> tuple[str, str]:
    """Put a search on the board whose request another release wrote. Return its id and its request as it was."""
    job_id, _ = board.submit(SEARCH.model_copy(update={"deadline": 60.0}))
    (key,) = keys.of_job(job_id, "request")
    known = str(server.get(key))
    server.set(key, changed(known, **changes))
    return job_id, known


def test_a_field_of_a_newer_release_is_ignored(board: ValkeyBoard, server: redis.Redis) -> None:
    job_id, known = submitted(board, server, boost=2)
    claim = board.claim(job_id, "original")
    assert claim is not None
    assert claim.request.model_dump_json() == known


def test_a_step_of_a_job_that_cannot_be_read_is_left_unused_to_a_worker_that_can(
    board: ValkeyBoard, server: redis.Redis
) -> None:
    job_id, known = submitted(board, server, version=NEWER)
    waits = []
    for _ in range(8):
        with pytest.raises(UnreadableJob) as caught:
            board.claim(job_id, "original")
        (step,) = board.picture(job_id).steps
        assert (step.state, step.attempt) == ("waiting", 0)
        assert "a worker cannot read its request: reports.version" in step.reason
        now_s, micros = server.time()
        due_ms: Any = server.zscore(due_key(job_id[0]), f"{job_id} original")
        waits.append(due_ms - now_s * 1000 - micros / 1000)
    assert caught.value.left_for_s >= 0
    assert waits == sorted(waits)
    assert waits[0] < 100
    assert 3_000 < waits[-1] < 10_000
    server.set(keys.of_job(job_id, "request")[0], known)
    claim = board.claim(job_id, "original")
    assert claim is not None
    assert claim.attempt == 1
    assert board.finish(claim, Outcome()) is not None


def test_how_long_a_step_was_left_is_forgotten_once_a_worker_has_tried_it(
    board: ValkeyBoard, server: redis.Redis
) -> None:
    job_id, known = submitted(board, server, version=NEWER)
    with pytest.raises(UnreadableJob):
        board.claim(job_id, "original")
    (steps,) = keys.of_job(job_id, "steps")
    server.hset(steps, "original.left_at", 1)
    server.set(keys.of_job(job_id, "request")[0], known)
    claim = board.claim(job_id, "original")
    assert claim is not None
    board.postpone(claim, delay_s=0, reason="away", cause="outage")
    server.set(keys.of_job(job_id, "request")[0], changed(known, version=NEWER))
    with pytest.raises(UnreadableJob) as caught:
        board.claim(job_id, "original")
    assert caught.value.left_for_s < 60


def test_a_replayed_job_is_left_anew(board: ValkeyBoard, server: redis.Redis) -> None:
    """If a worker of the older release hears of it first, it is not dead at once again."""
    job_id, _ = submitted(board, server, version=NEWER)
    with pytest.raises(UnreadableJob):
        board.claim(job_id, "original")
    server.hset(keys.of_job(job_id, "steps")[0], "original.left_at", 1)
    board.settle(job_id, Verdict("dead", reason="no worker can read it"))
    assert board.replay(job_id)
    with pytest.raises(UnreadableJob) as caught:
        board.claim(job_id, "original")
    assert caught.value.left_for_s < 60


def test_a_step_that_is_left_again_after_a_lost_reply_stays_with_who_has_claimed_it_since(
    board: ValkeyBoard, server: redis.Redis
) -> None:
    """Its attempt was given back, so the next one has the same number."""
    job_id, known = submitted(board, server, version=NEWER)
    for life in ("older#1", "newer#1"):
        board.beat(life, {})
    with pytest.raises(UnreadableJob):
        board.claim_steps(job_id, "original", life="older#1", limit=1)
    server.set(keys.of_job(job_id, "request")[0], known)
    assert board.claim_steps(job_id, "original", life="newer#1", limit=1).held
    leaving = calls.leave(calls.UnreadRequest(job_id, "original", 1, "it is newer", "older#1"))
    server.evalsha(digest(leaving.script), len(leaving.keys), *leaving.keys, *leaving.args)
    assert board.picture(job_id).steps[0].state == "running"


def test_a_malformed_record_is_named(board: ValkeyBoard, server: redis.Redis) -> None:
    job_id, _ = board.submit(SEARCH)
    server.hdel(keys.of_job(job_id, "job")[0], "order")
    with pytest.raises(UnreadableJob, match="malformed"):
        board.picture(job_id)


def test_bytes_that_are_no_text_keep_no_shard_from_being_swept(board: ValkeyBoard, server: redis.Redis) -> None:
    job_id, _ = board.submit(SEARCH)
    server.zadd(f"{keys.prefix(job_id[0])}callbacks", {b"\xff\xfe": 1})
    assert swept(board, job_id) == {Due(job_id, "original"), Due(job_id, None, past_deadline=True)}


def test_bytes_that_are_no_text_hide_no_worker_that_died(board: ValkeyBoard, server: redis.Redis) -> None:
    server.zadd(keys.WORKERS, {b"\xff#1": 1, b"dead#1": 2})
    assert "dead#1" in board.beat("us#1", {})
    assert {"dead#1", "us#1"} <= {worker.life for worker in board.workers()}


@pytest.mark.parametrize("replaced", [keys.WORKERS, keys.ABOUT_WORKERS])
def test_workers_beat_and_are_missed_though_somebody_wrote_over_their_list(
    board: ValkeyBoard, server: redis.Redis, replaced: str
) -> None:
    board.beat("dead#1", {})
    server.delete(replaced)
    server.set(replaced, "x")
    board.beat("us#1", {})
    assert {worker.life for worker in board.workers()} == {"dead#1", "us#1"}


SHARD_LISTS = ("due", "recent", "open", "waiting:search", "running:search", "counts", "backlog")


@pytest.mark.parametrize("part", SHARD_LISTS)
def test_a_key_of_another_type_keeps_no_job_of_its_shard_from_its_end(
    board: ValkeyBoard, server: redis.Redis, part: str
) -> None:
    """Before each call another program writes over a key that all jobs of the shard share."""

    def write_over() -> None:
        for shard in keys.SHARDS:
            server.delete(f"{keys.prefix(shard)}{part}")
            server.set(f"{keys.prefix(shard)}{part}", "x")

    write_over()
    job_id, _ = board.submit(EMBED)
    write_over()
    (held,) = board.claim_steps(job_id, "embed", life="us#1", limit=1).held
    write_over()
    assert board.postpone(held, delay_s=0, reason="", cause="outage")
    write_over()
    assert board.claim_steps(job_id, "embed", life="us#1", limit=1).held
    write_over()
    assert board.release_life("us#1") == [(job_id, "embed")]
    write_over()
    (held,) = board.claim_steps(job_id, "embed", life="us#1", limit=1).held
    write_over()
    assert board.finish(held, Outcome("failed", "x")) is not None
    write_over()
    assert board.settle(job_id, Verdict("dead", reason="x"))
    write_over()
    assert board.replay(job_id)
    write_over()
    (held,) = board.claim_steps(job_id, "embed", life="us#1", limit=1).held
    write_over()
    assert board.finish(held, Outcome()) is not None
    write_over()
    assert board.settle(job_id, Verdict("done", result="{}"))
    assert [event.type for _, event in board.events(job_id)][-1] == "done"
