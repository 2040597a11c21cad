"""What waits and what runs on each queue, as the board tells any client: the steps themselves, never their bells."""

from collections.abc import Callable

import pytest
import redis

from querymill_shared.board import Board, Outcome, ValkeyBoard, Verdict, keys, lives
from querymill_shared.board.queue_work import QueueWork, read_work
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.contracts.errors import UnreadableJob
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings
from tests.fixtures.boards import claimed, let_pass, on_both_servers

SEARCH = ReportSearch(query="revenue?", collection="filings", hyde=True, multi_query=("synonym",), deadline=30)
EMBED = EmbedTexts(collection="filings", texts=(TextToEmbed(id="a", text="x"),))


@pytest.fixture
def settings(valkey_url: str) -> Settings:
    return Settings(redis_url=valkey_url, querymill_ring_grace_s=0.1)


def work_of(board: Board) -> dict[Queue, QueueWork]:
    assert isinstance(board, ValkeyBoard)
    return {work.queue: work for work in read_work(board._client, lives.read_lives(board._client))}


def steps_of(board: Board, queue: Queue) -> tuple[int, int]:
    """Return how many steps of a queue wait and run."""
    work = work_of(board)[queue]
    return work.waiting, work.running


@on_both_servers
def test_nothing_waits_or_runs_on_an_empty_board(board: Board) -> None:
    assert list(work_of(board).values()) == [QueueWork(queue, 0, 0, 0) for queue in Queue]


@on_both_servers
def test_a_step_waits_then_runs_then_does_neither(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    assert (steps_of(board, Queue.SEARCH), steps_of(board, Queue.EXPAND)) == ((1, 0), (2, 0))
    held = claimed(board, job_id)
    assert (steps_of(board, Queue.SEARCH), steps_of(board, Queue.EXPAND)) == ((0, 1), (2, 0))
    board.finish(held, Outcome("done"))
    assert (steps_of(board, Queue.SEARCH), steps_of(board, Queue.EXPAND)) == ((0, 0), (2, 0))


def test_one_claim_of_several_steps_moves_all_of_them(board: Board) -> None:
    board.beat("w@host#1", {"name": "w"})
    job_id, _ = board.submit(SEARCH)
    assert len(board.claim_steps(job_id, "hyde", life="w@host#1", limit=8).held) == 2
    assert steps_of(board, Queue.EXPAND) == (0, 2)


def test_the_oldest_is_the_step_that_has_waited_longest(board: Board) -> None:
    first, _ = board.submit(SEARCH)
    let_pass(board, 60)
    board.submit(SEARCH.model_copy(update={"query": "ships?"}))
    oldest_s = work_of(board)[Queue.SEARCH].oldest_s
    assert oldest_s is not None
    assert 60 <= oldest_s < 70
    board.settle(first, Verdict("cancelled"))
    oldest_s = work_of(board)[Queue.SEARCH].oldest_s
    assert oldest_s is not None
    assert oldest_s < 10


def test_a_step_that_is_put_back_waits_once_its_time_has_come(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    board.postpone(claimed(board, job_id), delay_s=20, reason="r", cause="outage")
    work = work_of(board)[Queue.SEARCH]
    assert (work.waiting, work.running, work.oldest_s) == (0, 0, None)
    let_pass(board, 21)
    assert steps_of(board, Queue.SEARCH) == (1, 0)


def test_steps_that_follow_wait_too(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    board.add_steps(job_id, ["answer"], queue_of=lambda _: Queue.RERANK)
    assert steps_of(board, Queue.RERANK) == (1, 0)


@pytest.mark.parametrize("planned", [True, False])
def test_what_an_ended_worker_held_waits_again(board: Board, planned: bool) -> None:
    board.beat("w@host#1", {"name": "w"})
    job_id, _ = board.submit(SEARCH)
    board.claim_steps(job_id, "original", life="w@host#1", limit=1)
    board.release_life("w@host#1", planned=planned)
    assert steps_of(board, Queue.SEARCH) == (1, 0)


def test_what_a_worker_cannot_read_waits_since_the_first_one_left_it(board: ValkeyBoard) -> None:
    job_id, _ = board.submit(SEARCH)
    board._client.set(keys.of_job(job_id, "request")[0], '{"kind": "of the next release"}')
    for _ in range(2):
        with pytest.raises(UnreadableJob):
            board.claim(job_id, "original")
        let_pass(board, 10)
    work = work_of(board)[Queue.SEARCH]
    assert (work.waiting, work.running) == (1, 0)
    assert work.oldest_s is not None
    assert work.oldest_s >= 20


def die(board: Board, job_id: str) -> None:
    board.settle(job_id, Verdict("dead", reason="r"))


@pytest.mark.parametrize(
    "end",
    [
        lambda board, job_id: board.settle(job_id, Verdict("done", result="{}")),
        lambda board, job_id: board.settle(job_id, Verdict("cancelled")),
        lambda board, job_id: board.settle(job_id, Verdict("failed", reason="its deadline passed")),
        die,
    ],
    ids=["done", "cancelled", "failed", "dead"],
)  # fmt: skip
def test_no_step_of_a_job_that_ended_waits_or_runs(board: Board, end: Callable[[Board, str], None]) -> None:
    board.add_collections("reports", ["filings"])
    job_id, _ = board.submit(SEARCH)
    claimed(board, job_id)
    end(board, job_id)
    assert {steps_of(board, queue) for queue in Queue} == {(0, 0)}


def test_the_only_step_of_a_job_ends_with_it(board: Board) -> None:
    job_id, _ = board.submit(EMBED)
    held = claimed(board, job_id, EMBED.steps[0])
    assert steps_of(board, Queue.EMBED) == (0, 1)
    board.finish(held, Outcome("done"), verdict=Verdict("done", result="{}"))
    assert steps_of(board, Queue.EMBED) == (0, 0)


def test_a_dead_job_that_is_replayed_waits_again(board: Board) -> None:
    job_id, _ = board.submit(EMBED)
    die(board, job_id)
    board.replay(job_id)
    assert steps_of(board, Queue.EMBED) == (1, 0)


def test_a_job_that_follows_another_is_no_further_work(board: Board) -> None:
    board.submit(SEARCH)
    board.submit(SEARCH)
    assert steps_of(board, Queue.SEARCH) == (1, 0)


def test_the_threads_of_living_workers_count_for_each_queue_that_they_serve(board: ValkeyBoard) -> None:
    board.beat("a@host#1", {"queues": ["search", "expand"], "slots": 16})
    board.beat("b@host#2", {"queues": ["search"], "slots": 4})
    work = work_of(board)
    assert [work[queue].slots for queue in (Queue.SEARCH, Queue.EXPAND, Queue.RANKS)] == [20, 16, 0]
    let_pass(board, lives.ALIVE_S + 1)
    board.beat("b@host#2", {"queues": ["search"], "slots": 4})
    assert work_of(board)[Queue.SEARCH].slots == 4


def test_the_threads_that_run_nothing_are_free_for_each_queue_that_they_serve(board: ValkeyBoard) -> None:
    board.beat("a@host#1", {"queues": ["search", "expand"], "slots": 16, "busy": 10})
    board.beat("b@host#2", {"queues": ["search"], "slots": 4, "busy": 5})  # one more, for others' collections
    board.beat("c@host#3", {"queues": ["ranks"], "slots": 2})
    work = work_of(board)
    assert [work[queue].free for queue in (Queue.SEARCH, Queue.EXPAND, Queue.RANKS, Queue.EMBED)] == [6, 6, 2, 0]


@on_both_servers
def test_each_attempt_at_a_step_is_counted_as_a_claim_of_its_queue(board: Board) -> None:
    board.beat("w@host#1", {"name": "w"})
    job_id, _ = board.submit(SEARCH)
    board.postpone(claimed(board, job_id), delay_s=0, reason="r", cause="outage")
    claimed(board, job_id)
    assert len(board.claim_steps(job_id, "hyde", life="w@host#1", limit=8).held) == 2
    work = work_of(board)
    assert [work[queue].claimed for queue in (Queue.SEARCH, Queue.EXPAND, Queue.RANKS)] == [2, 2, 0]


def test_a_claim_that_gets_nothing_is_not_counted(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    claimed(board, job_id)
    assert board.claim(job_id, "original") is None
    assert work_of(board)[Queue.SEARCH].claimed == 1


def test_bells_change_nothing(board: ValkeyBoard) -> None:
    board.submit(SEARCH)
    before = work_of(board)
    board._client.lpush("search", *["no bell"] * 10)
    assert {queue: work.waiting for queue, work in work_of(board).items()} == {
        queue: work.waiting for queue, work in before.items()
    }


def test_what_another_program_did_to_the_sets_is_mended(board: ValkeyBoard, server: redis.Redis) -> None:
    job_id, _ = board.submit(SEARCH)
    lost, _ = board.submit(SEARCH.model_copy(update={"query": "ships?"}))
    claimed(board, lost)
    for part in ("job", "steps"):
        server.delete(*keys.of_job(lost, part))
    start = keys.prefix(job_id[0])
    server.zadd(f"{start}waiting:search", {"": 1, "no entry": 2, "a b c": 3} | {f"{n} x": n for n in range(2_000)})
    server.set(f"{start}running:search", "another program's")
    for _ in range(3):
        work = work_of(board)[Queue.SEARCH]
    assert (work.waiting, work.running) == (1, 0)
    assert work.oldest_s is not None
    assert work.oldest_s < 10
    board.finish(claimed(board, job_id), Outcome("done"))
    assert steps_of(board, Queue.SEARCH) == (0, 0)


def test_steps_of_a_release_that_keeps_no_sets_are_counted_once_they_are_swept(
    board: ValkeyBoard, server: redis.Redis
) -> None:
    job_id, _ = board.submit(SEARCH)
    started, _ = board.submit(SEARCH.model_copy(update={"query": "ships?"}))
    for shard in keys.SHARDS:
        server.delete(*(f"{keys.prefix(shard)}waiting:{queue}" for queue in Queue))
    # Such a worker went on with a step that this release had noted as waiting.
    server.zadd(f"{keys.prefix(started[0])}waiting:search", {f"{started} original": 1})
    server.hset(keys.of_job(started, "steps")[0], "original.state", "running")
    assert steps_of(board, Queue.SEARCH) == (0, 0)
    let_pass(board, 30)
    board.due()
    work = work_of(board)[Queue.SEARCH]
    assert (work.waiting, work.running) == (1, 0)
    assert work.oldest_s is not None
    assert work.oldest_s >= 29
    assert job_id
