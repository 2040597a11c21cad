"""Steps that a job is given on its way, and events told under a claim: on the board in memory and on Valkey."""

import time
from collections.abc import Iterator

import pytest
import redis

from querymill_shared.board import Board, Claim, MemoryBoard, Outcome, ValkeyBoard, Verdict
from querymill_shared.contracts.events import AnswerPart, Progress
from querymill_shared.contracts.reports import ReportSearch
from querymill_shared.settings import Settings

LEASE, GRACE = 0.2, 0.1
SEARCH = ReportSearch(query="revenue?", collection="filings", deadline=5)


@pytest.fixture(params=["memory", "valkey"])
def board(request: pytest.FixtureRequest, valkey_url: str) -> Iterator[Board]:
    settings = Settings(redis_url=valkey_url, querymill_lease_s=LEASE, querymill_ring_grace_s=GRACE)
    if request.param == "memory":
        yield MemoryBoard(settings)
        return
    with redis.Redis.from_url(settings.redis_url) as client:
        client.flushdb()
    on_valkey = ValkeyBoard.connect(settings)
    yield on_valkey
    on_valkey.close()


def claimed(board: Board, job_id: str, step: str) -> Claim:
    claim = board.claim(job_id, step)
    assert claim is not None
    return claim


@pytest.fixture
def job_id(board: Board) -> str:
    """A job whose first step is done."""
    job_id = board.submit(SEARCH)[0]
    board.finish(claimed(board, job_id, "original"), Outcome())
    return job_id


def test_an_added_step_waits_after_those_there_were_and_keeps_the_job_open(board: Board, job_id: str) -> None:
    assert board.picture(job_id).record.open_steps == 0
    assert board.add_steps(job_id, ["second", "third"]) == ["second", "third"]
    picture = board.picture(job_id)
    assert [(step.name, step.state, step.attempt) for step in picture.steps] == [
        ("original", "done", 1),
        ("second", "waiting", 0),
        ("third", "waiting", 0),
    ]
    assert picture.record.open_steps == 2


def test_a_step_is_added_once(board: Board, job_id: str) -> None:
    assert board.add_steps(job_id, ["second"]) == ["second"]
    assert board.add_steps(job_id, ["second", "original"]) == []
    assert board.picture(job_id).record.open_steps == 1


def test_an_added_step_is_claimed_and_finished_like_any(board: Board, job_id: str) -> None:
    board.add_steps(job_id, ["second"])
    picture = board.finish(claimed(board, job_id, "second"), Outcome(notes={"said": 1}))
    assert picture is not None
    assert picture.record.open_steps == 0
    assert picture.steps[-1].notes == {"said": 1}


def test_an_added_step_comes_due_and_nobody_settles_before_it(board: Board, job_id: str) -> None:
    board.add_steps(job_id, ["second"])
    time.sleep(GRACE + 0.02)
    assert [due.step for due in board.due() if due.job_id == job_id] == ["second"]


def test_a_job_that_is_over_gets_no_step(board: Board, job_id: str) -> None:
    board.settle(job_id, Verdict("cancelled"))
    assert board.add_steps(job_id, ["second"]) == []
    assert [step.name for step in board.picture(job_id).steps] == ["original"]


def test_settling_leaves_nothing_due_of_an_added_step(board: Board, job_id: str) -> None:
    board.add_steps(job_id, ["second"])
    board.settle(job_id, Verdict("done", result="{}"))
    time.sleep(GRACE + 0.02)
    assert [due for due in board.due() if due.job_id == job_id] == []


def test_only_the_attempt_that_holds_the_step_is_heard(board: Board, job_id: str) -> None:
    board.add_steps(job_id, ["second"])
    first = claimed(board, job_id, "second")
    time.sleep(LEASE + 0.05)
    second = claimed(board, job_id, "second")
    parts = [AnswerPart(stage="second", attempt=held.attempt, offset=0, text="hello") for held in (first, second)]
    assert not board.tell(job_id, parts[0], held=first)
    assert board.tell(job_id, parts[1], held=second)
    assert board.events(job_id)[-1][1] == parts[1]
    assert parts[0] not in [event for _, event in board.events(job_id)]


def test_nothing_is_told_of_a_job_that_is_over(board: Board, job_id: str) -> None:
    board.add_steps(job_id, ["second"])
    held = claimed(board, job_id, "second")
    board.settle(job_id, Verdict("cancelled"))
    assert not board.tell(job_id, Progress(stage="second", done=1, total=2), held=held)
