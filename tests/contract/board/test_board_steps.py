"""Steps that a job gets on its way."""

import threading
import time

import pytest

from querymill_shared.board import Board, Due, Outcome, Verdict
from querymill_shared.board.calls import SETTLE_GRACE_MS
from querymill_shared.contracts.events import PartialHit, SearchRound
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.settings import Settings
from tests.fixtures.boards import claimed, let_pass, on_both_servers

GRACE = 0.1
SEARCH = ReportSearch(query="revenue?", collection="filings", deadline=60)


@pytest.fixture
def settings(valkey_url: str) -> Settings:
    return Settings(redis_url=valkey_url, querymill_ring_grace_s=GRACE)


def with_first_step_closed(board: Board) -> str:
    job_id, _ = board.submit(SEARCH)
    board.finish(claimed(board, job_id, "original"), Outcome())
    return job_id


@on_both_servers
def test_an_added_step_is_one_like_the_others(board: Board) -> None:
    job_id = with_first_step_closed(board)
    assert board.add_steps(job_id, ["second", "third"]) == ["second", "third"]
    picture = board.picture(job_id)
    assert picture.record.open_steps == 2
    assert [(step.name, step.state) for step in picture.steps] == [
        ("original", "done"),
        ("second", "waiting"),
        ("third", "waiting"),
    ]
    claim = claimed(board, job_id, "second")
    assert claim.attempt == 1
    after = board.finish(claim, Outcome(notes={"found": 3}))
    assert after is not None
    assert after.record.open_steps == 1
    assert after.steps[1].notes == {"found": 3}


def test_a_step_is_added_once_whoever_asks_and_how_often(board: Board) -> None:
    job_id = with_first_step_closed(board)
    added: list[list[str]] = []
    workers = [threading.Thread(target=lambda: added.append(board.add_steps(job_id, ["a", "b"]))) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(name for names in added for name in names) == ["a", "b"]
    assert board.picture(job_id).record.open_steps == 2


def test_adding_a_step_that_is_done_does_not_open_it_again(board: Board) -> None:
    job_id = with_first_step_closed(board)
    board.add_steps(job_id, ["second"])
    board.finish(claimed(board, job_id, "second"), Outcome())
    assert board.add_steps(job_id, ["second"]) == []
    assert board.picture(job_id).record.open_steps == 0
    assert board.claim(job_id, "second") is None


def test_a_job_that_is_over_gets_no_further_step(board: Board) -> None:
    job_id = with_first_step_closed(board)
    board.settle(job_id, Verdict("cancelled"))
    assert board.add_steps(job_id, ["second"]) == []
    assert board.claim(job_id, "second") is None


def test_an_added_step_whose_bell_was_lost_comes_due_and_its_job_is_not_settled_meanwhile(board: Board) -> None:
    job_id = with_first_step_closed(board)
    board.add_steps(job_id, ["second"])
    time.sleep(GRACE + 0.05)
    assert [due for due in board.due() if due.job_id == job_id] == [Due(job_id, "second")]
    let_pass(board, SETTLE_GRACE_MS / 1_000 + 0.1)
    assert {due.step for due in board.due()} == {"second"}


def test_an_added_step_of_a_job_that_ended_is_never_due(board: Board) -> None:
    job_id = with_first_step_closed(board)
    board.add_steps(job_id, ["second"])
    board.settle(job_id, Verdict("done", result="{}"))
    time.sleep(GRACE + 0.05)
    assert board.due() == []


def test_a_round_is_told_like_any_event(board: Board) -> None:
    job_id = with_first_step_closed(board)
    told = SearchRound(
        round=1,
        queries=("words: restore",),
        evaluated=20,
        bands={"high": 1},
        files=(PartialHit(key="a.py", score=0.9),),
        gaps=("Channel",),
    )
    assert board.append_event(job_id, told)
    assert board.events(job_id)[-1][1] == told


def test_many_jobs_are_looked_at_and_ended_at_once(board: Board) -> None:
    """One that is unknown keeps no other from its end, and one that has ended keeps its own."""
    first, second, cancelled = (
        board.submit(SEARCH.model_copy(update={"query": query}))[0] for query in ("one?", "two?", "three?")
    )
    board.settle(cancelled, Verdict("cancelled"))
    pictures = board.pictures([first, "ffffffffffffffffffffffffffffffff", second])
    assert [picture and picture.record.job_id for picture in pictures] == [first, None, second]
    board.settle_all(dict.fromkeys((first, second, cancelled, "f" * 32), Verdict("failed", reason="late")))
    records = [board.picture(job_id).record for job_id in (first, second, cancelled)]
    assert [(record.state, record.reason) for record in records] == [
        ("failed", "late"), ("failed", "late"), ("cancelled", ""),
    ]  # fmt: skip
