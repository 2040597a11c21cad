"""Events told under a claim."""

import time

import pytest

from querymill_shared.board import Board, Verdict
from querymill_shared.contracts.events import AnswerPart, Progress
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.settings import Settings
from tests.fixtures.boards import claimed

LEASE, GRACE = 0.2, 0.1
SEARCH = ReportSearch(query="revenue?", collection="filings", deadline=60)


@pytest.fixture
def settings(valkey_url: str) -> Settings:
    return Settings(redis_url=valkey_url, querymill_lease_s=LEASE, querymill_ring_grace_s=GRACE)


def test_only_the_attempt_that_holds_the_step_is_heard(board: Board) -> None:
    job_id = board.submit(SEARCH)[0]
    first = claimed(board, job_id, "original")
    time.sleep(LEASE + 0.05)
    second = claimed(board, job_id, "original")
    parts = [AnswerPart(stage="original", attempt=held.attempt, offset=0, text="hello") for held in (first, second)]
    assert not board.append_event(job_id, parts[0], held=first)
    assert board.append_event(job_id, parts[1], held=second)
    assert board.events(job_id)[-1][1] == parts[1]
    assert parts[0] not in [event for _, event in board.events(job_id)]


def test_nothing_is_told_of_a_job_that_is_over(board: Board) -> None:
    job_id = board.submit(SEARCH)[0]
    held = claimed(board, job_id, "original")
    board.settle(job_id, Verdict("cancelled"))
    assert not board.append_event(job_id, Progress(stage="original", done=1, total=2), held=held)
