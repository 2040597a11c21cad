"""Bells that are still queued, and work that cannot begin in time."""

import time
from contextlib import suppress
from uuid import uuid4

import pytest

from querymill_shared.board import Board, calls, keys
from querymill_shared.board.connections import open_commands
from querymill_shared.board.pace import QueuePace
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.contracts.errors import Overloaded
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings
from tests.fixtures.boards import claimed, empty_board

GRACE = 0.1
SEARCH = ReportSearch(query="revenue?", collection="filings", deadline=5)
#: Two branches that share a queue, next to the original.
BRANCHES = ReportSearch(query="revenue?", collection="filings", hyde=True, multi_query=("synonym",), deadline=5)


@pytest.fixture
def settings(valkey_url: str) -> Settings:
    return Settings(redis_url=valkey_url, querymill_lease_s=1, querymill_ring_grace_s=GRACE)


def due_steps(board: Board, waits: dict[str, float]) -> list[str]:
    return sorted(due.step or "" for due in board.due(waits=waits))


@pytest.mark.parametrize("wait_s", [60.0, float("inf")])
def test_a_step_whose_bell_may_be_in_its_queue_is_not_rung_again(board: Board, wait_s: float) -> None:
    board.submit(SEARCH)
    time.sleep(GRACE * 1.5)
    assert due_steps(board, {"search": wait_s}) == []


def test_a_step_whose_bell_was_lost_is_rung_once_it_would_have_been_taken(board: Board) -> None:
    board.submit(SEARCH)
    time.sleep(GRACE * 1.5)
    assert due_steps(board, {"search": GRACE}) == ["original"]
    # That bell is in the queue now.
    time.sleep(GRACE * 2.5)
    assert due_steps(board, {"search": 60}) == []
    time.sleep(GRACE * 5)
    assert due_steps(board, {}) == ["original"]


def test_the_backlog_of_another_queue_holds_back_nothing(board: Board) -> None:
    board.submit(SEARCH)
    time.sleep(GRACE * 1.5)
    assert due_steps(board, {"expand": 60}) == ["original"]


def test_the_steps_of_a_queue_share_a_bell(board: Board) -> None:
    board.submit(BRANCHES)
    time.sleep(GRACE * 1.5)
    assert due_steps(board, {}) in (["hyde", "original"], ["original", "synonym"])


def test_a_step_that_was_put_back_needs_a_bell_of_its_own(board: Board) -> None:
    job_id, _ = board.submit(BRANCHES)
    held = claimed(board, job_id, "hyde")
    board.postpone(held, delay_s=GRACE, reason="r", cause="outage")
    time.sleep(GRACE * 1.5)
    # Its bell was taken, and rung before it was put back.
    assert "hyde" in due_steps(board, {"expand": GRACE})


def test_a_held_step_is_due_whatever_is_queued(settings: Settings) -> None:
    with empty_board(settings.model_copy(update={"querymill_lease_s": GRACE})) as board:
        job_id, _ = board.submit(SEARCH)
        claimed(board, job_id)
        time.sleep(GRACE * 1.5)
        assert due_steps(board, {"search": 60}) == ["original"]


def test_work_that_cannot_begin_in_time_is_refused_and_nothing_is_enqueued(board: Board) -> None:
    board.report_backlog({"search": 12.5})
    with pytest.raises(Overloaded, match="try again in 13 s") as refused:
        board.submit(SEARCH, SubmitOptions(idempotency_key="turn-1"))
    assert refused.value.retry_after_s == 12.5
    assert board.recent() == []
    assert board.counts().submitted == {}
    # The key was not used up.
    board.report_backlog({})
    assert board.submit(SEARCH, SubmitOptions(idempotency_key="turn-1"))[1]


def test_work_that_can_begin_in_time_is_accepted(board: Board) -> None:
    board.report_backlog({"search": 4.5, "ingest": 900})
    assert board.submit(SEARCH)[1]


def test_a_job_of_which_any_step_can_begin_is_accepted(board: Board) -> None:
    board.report_backlog({"expand": 900})
    assert board.submit(BRANCHES)[1]


def test_work_without_a_deadline_waits_as_long_as_it_takes(board: Board) -> None:
    board.report_backlog(dict.fromkeys(Queue, 900.0))
    assert board.submit(EmbedTexts(collection="c", texts=(TextToEmbed(id="a", text="x"),)))[1]


def test_a_known_key_returns_its_job_whatever_waits(board: Board) -> None:
    job_id, _ = board.submit(SEARCH, SubmitOptions(idempotency_key="turn-1"))
    board.report_backlog({"search": 900})
    assert board.submit(SEARCH, SubmitOptions(idempotency_key="turn-1")) == (job_id, False)


def test_an_old_report_refuses_nothing(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "BACKLOG_TTL_MS", 50)
    board.report_backlog({"search": 900})
    time.sleep(0.1)
    assert board.submit(SEARCH)[1]


def test_work_is_accepted_beside_a_report_that_another_program_wrote(settings: Settings) -> None:
    with empty_board(settings) as board, open_commands(settings.redis_url, decode_responses=False) as client:
        for number, shard in enumerate(keys.SHARDS):
            if number % 2:
                client.set(keys.backlog(shard), "no hash")
            else:
                client.hset(keys.backlog(shard), "search", "soon")
        searches = [SEARCH.model_copy(update={"query": f"year {number}?"}) for number in range(24)]
        assert all(board.submit(search)[1] for search in searches)


def asked(collection: str = "hog", deadline: float = 5) -> ReportSearch:
    """Ask what nobody has asked: what is asked already is joined whatever waits."""
    return ReportSearch(query=f"revenue of {uuid4().hex}?", collection=collection, deadline=deadline)


def accepted(board: Board, count: int, collection: str = "hog", deadline: float = 5) -> int:
    """Submit searches, and return how many are accepted. Each is judged by what waits in its own shard, by chance."""
    number = 0
    for _ in range(count):
        with suppress(Overloaded):
            board.submit(asked(collection, deadline))
            number += 1
    return number


def test_a_burst_is_refused_when_it_is_too_long_whatever_waited_at_the_last_look(board: Board) -> None:
    board.report_backlog({}, {"search": QueuePace(waiting=0, per_s=20)})
    # 20 a second for 5 s are 100 steps. What waits is told from one of 16 shards, without two that come by chance.
    assert 60 < accepted(board, 400) < 260


def test_what_was_claimed_since_the_last_look_does_not_keep_new_work_out(board: Board) -> None:
    # So many that hardly a shard has more than half of its steps left by chance.
    jobs = [board.submit(asked())[0] for _ in range(400)]
    board.report_backlog({"search": 10.0}, {"search": QueuePace(waiting=400, per_s=40)})
    assert accepted(board, 20) < 8
    for job_id in jobs[:340]:
        claimed(board, job_id)
    assert accepted(board, 20) > 10


def test_a_shard_of_few_steps_takes_new_work_once_they_have_begun(board: Board) -> None:
    by_shard: dict[str, list[str]] = {}
    for job_id in [board.submit(asked())[0] for _ in range(100)]:
        by_shard.setdefault(job_id[0], []).append(job_id)
    board.report_backlog({}, {"search": QueuePace(waiting=100, per_s=10)})
    for job_id in min(by_shard.values(), key=lambda jobs: abs(len(jobs) - 4.5)):
        claimed(board, job_id)
    assert accepted(board, 160) > 0


def test_a_flood_shuts_the_door_for_its_own_collection_alone(board: Board) -> None:
    for _ in range(300):
        board.submit(asked())
    board.report_backlog({"search": 15.0}, {"search": QueuePace(waiting=300, per_s=20, spare=0.125)})
    assert accepted(board, 20) < 4
    # The spare thread begins 2.5 steps a second of those who have few: 12 within 5 s.
    assert accepted(board, 12, "small") >= 5
    assert accepted(board, 300, "flood-2") < 60


def test_without_spare_threads_all_wait_alike(board: Board) -> None:
    for _ in range(300):
        board.submit(asked())
    board.report_backlog({"search": 15.0}, {"search": QueuePace(waiting=300, per_s=20)})
    assert accepted(board, 1, "small") == 0


def test_a_refused_caller_is_told_no_later_than_the_last_deadline_of_what_waits(board: Board) -> None:
    for _ in range(100):
        board.submit(asked(deadline=8))
    board.report_backlog({"search": 60.0}, {"search": QueuePace(waiting=1_000, per_s=10)})
    with pytest.raises(Overloaded) as refused:
        board.submit(asked())
    assert 6 < refused.value.retry_after_s <= 8
    # What has no deadline is waited for.
    for number in range(100):
        board.submit(EmbedTexts(collection="c", texts=(TextToEmbed(id=str(number), text="x"),)))
    board.report_backlog({}, {"embed": QueuePace(waiting=100, per_s=1)})
    assert board.submit(asked(deadline=120))[1]


def test_work_is_accepted_beside_a_pace_that_another_program_wrote(settings: Settings) -> None:
    with empty_board(settings) as board, open_commands(settings.redis_url, decode_responses=False) as client:
        for number, shard in enumerate(keys.SHARDS):
            told = ("fast", "1 2 x 4", "1 2 0 0", "")[number % 4]
            client.hset(keys.backlog(shard), "pace:search", told)
        assert accepted(board, 48) == 48
