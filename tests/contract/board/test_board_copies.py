"""Jobs that are copied out of a board and put on an empty one go on there, or are read there, as they were."""

import time
from collections.abc import Callable, Iterator

import pytest
import redis

from querymill_shared.board import Outcome, ValkeyBoard, Verdict
from querymill_shared.board.connections import open_commands
from querymill_shared.board.copying import CopiedKey, copy_jobs, put_keys
from querymill_shared.contracts.errors import UnknownJob
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.settings import Settings
from tests.contract.board.test_board_dead import dead
from tests.contract.board.test_board_joining import INGEST, SEARCH, finish, result_of, state_of, submitted
from tests.fixtures.boards import claimed, with_settings


@pytest.fixture
def raw(settings: Settings, board: ValkeyBoard) -> Iterator[redis.Redis]:
    with open_commands(settings.redis_url, decode_responses=False) as client:
        yield client


@pytest.fixture
def moved(raw: redis.Redis) -> Callable[[], int]:
    """Copies all, empties the server, and puts the copies on it. Returns the number of jobs."""

    def move(copied: list[CopiedKey] | None = None) -> int:
        kept = list(copy_jobs(raw)) if copied is None else copied
        raw.flushdb()
        return put_keys(raw, kept)

    return move


def step_of(board: ValkeyBoard, job_id: str) -> str:
    return board.picture(job_id).steps[0].name


def test_a_job_that_waits_is_found_due_and_goes_on(board: ValkeyBoard, moved: Callable[[], int]) -> None:
    job_id, _ = board.submit(INGEST)
    assert moved() == 1
    assert board.open_jobs(limit=9) == [job_id]
    assert [due.job_id for due in board.due()] == [job_id]
    assert board.recent(limit=9) == [job_id]
    claim = claimed(board, job_id, step_of(board, job_id))
    assert claim.request == INGEST
    board.finish(claim, Outcome())
    board.settle(job_id, Verdict("done", result=result_of(job_id)))
    assert state_of(board, job_id) == "done"


def test_a_step_that_a_worker_held_waits_at_once_and_its_worker_is_fenced_out(
    board: ValkeyBoard, moved: Callable[[], int]
) -> None:
    job_id, _ = board.submit(INGEST)
    (held,) = board.claim_steps(job_id, INGEST.steps[0], life="search-1#1", limit=1).held
    moved()
    again = claimed(board, job_id, step_of(board, job_id))
    assert again.attempt == held.attempt + 1
    assert board.picture(job_id).steps[0].counts.pauses == 1
    assert not board.extend(held)
    assert again.accepted_us == held.accepted_us  # the version of what it writes


def test_those_who_follow_a_job_are_told_its_end(board: ValkeyBoard, moved: Callable[[], int]) -> None:
    leader, *followers = submitted(board, 3)
    assert moved() == 3
    finish(board, leader)
    assert [board.result(job_id) for job_id in (leader, *followers)] == list(map(result_of, (leader, *followers)))
    assert [state_of(board, job_id) for job_id in followers] == ["done"] * 2


def test_a_job_that_ended_keeps_its_result_its_time_and_its_idempotency_key(
    board: ValkeyBoard, moved: Callable[[], int], raw: redis.Redis
) -> None:
    job_id, _ = board.submit(SEARCH, SubmitOptions(idempotency_key="once"))
    finish(board, job_id)
    assert moved() == 1
    assert board.result(job_id) == result_of(job_id)
    assert board.submit(SEARCH, SubmitOptions(idempotency_key="once")) == (job_id, False)
    assert 0 < raw.pttl(f"qm:{{{job_id[0]}}}:{job_id}:job") <= 60_000
    assert board.open_jobs(limit=9) == []


def test_a_dead_job_is_listed_and_can_be_replayed(board: ValkeyBoard, moved: Callable[[], int]) -> None:
    job_id = dead(board)
    moved()
    assert board.dead() == [job_id]
    assert board.replay(job_id)
    assert claimed(board, job_id, step_of(board, job_id))


def test_a_job_whose_steps_are_done_is_settled(board: ValkeyBoard, moved: Callable[[], int]) -> None:
    job_id, _ = board.submit(INGEST)
    board.finish(claimed(board, job_id, step_of(board, job_id)), Outcome())
    moved()
    assert [(due.job_id, due.step) for due in board.due()] == [(job_id, None)]


def test_a_deadline_that_passed_meanwhile_ends_the_job(board: ValkeyBoard, moved: Callable[[], int]) -> None:
    job_id, _ = board.submit(SEARCH.model_copy(update={"deadline": 0.3}))
    time.sleep(0.4)
    moved()
    assert (job_id, True) in [(due.job_id, due.past_deadline) for due in board.due()]


@with_settings(querymill_result_ttl_s=0.2)
def test_what_expired_meanwhile_stays_away(board: ValkeyBoard, raw: redis.Redis, moved: Callable[..., int]) -> None:
    job_id, _ = board.submit(SEARCH)
    finish(board, job_id)
    copied = list(copy_jobs(raw))
    time.sleep(0.3)
    assert moved(copied) == 0
    with pytest.raises(UnknownJob):
        board.picture(job_id)


def test_a_job_that_comes_while_others_are_copied_is_copied_whole_or_not(board: ValkeyBoard, raw: redis.Redis) -> None:
    """What follows from a job that was accepted before it ended is copied, if the job is."""
    first, _ = board.submit(INGEST)
    copying = copy_jobs(raw)
    copied = [next(copying)]
    late, _ = board.submit(INGEST.model_copy(update={"collection": "later"}))
    copied += list(copying)
    raw.flushdb()
    put_keys(raw, copied)
    assert board.open_jobs(limit=9)[0] == first
    assert late in board.open_jobs(limit=9)


def test_writes_that_come_later_are_newer_than_what_is_stored(
    board: ValkeyBoard, settings: Settings, moved: Callable[[], int]
) -> None:
    """The stores may have versions that the copied board did not give: workers look before they begin a write."""
    board.submit(INGEST)
    moved()
    stored = int((time.time() + 1_000) * 1_000_000)
    asking = ValkeyBoard.connect(settings, largest_stored=lambda at_least_us: stored)
    job_id, _ = asking.submit(INGEST.model_copy(update={"collection": "later"}))
    assert claimed(asking, job_id, step_of(board, job_id)).accepted_us > stored
    asking.close()
