"""Steps that nobody runs: each holds what a part of a job came to."""

import threading

from querymill_shared.board import Board, Outcome, Picture, Verdict
from querymill_shared.contracts.events import StageFinished
from querymill_shared.contracts.reports.search import ReportSearch
from tests.fixtures.boards import claimed, on_both_servers

SEARCH = ReportSearch(query="revenue?", collection="filings", hyde=True, deadline=60)


@on_both_servers
def test_it_is_there_closed_with_its_notes_and_opens_nothing(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    before = board.picture(job_id).record.open_steps
    picture = board.add_closed_step(job_id, "part", Outcome(notes={"found": 3}))
    assert picture is not None
    assert picture.record.open_steps == before
    part = picture.steps[-1]
    assert (part.name, part.state, part.attempt, part.notes) == ("part", "done", 0, {"found": 3})
    assert part.attempts == ()
    assert part.ended is not None
    assert part.ended >= picture.record.created
    told = [event for _, event in board.events(job_id) if isinstance(event, StageFinished)]
    assert [(event.stage, event.state) for event in told] == [("part", "done")]


@on_both_servers
def test_one_that_failed_says_why(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    picture = board.add_closed_step(job_id, "part", Outcome("failed", "it was away", code="store_down"))
    assert picture is not None
    assert (picture.steps[-1].state, picture.steps[-1].reason) == ("failed", "it was away")
    assert picture.steps[-1].code == "store_down"


@on_both_servers
def test_the_first_call_stands_and_the_second_is_told_so_by_the_picture(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    board.add_closed_step(job_id, "part", Outcome(notes={"found": 3}))
    again = board.add_closed_step(job_id, "part", Outcome("failed", "late"))
    assert again is not None
    assert [(step.name, step.state) for step in again.steps[-1:]] == [("part", "done")]
    assert [step.name for step in again.steps].count("part") == 1


@on_both_servers
def test_a_job_that_has_ended_gets_none(board: Board) -> None:
    job_id, _ = board.submit(SEARCH)
    board.settle(job_id, Verdict("failed", reason="given up"))
    assert board.add_closed_step(job_id, "part", Outcome()) is None
    assert all(step.name != "part" for step in board.picture(job_id).steps)


@on_both_servers
def test_of_those_who_add_parts_at_once_the_last_sees_all(board: Board) -> None:
    """Each sees at least what was there before: so one of them finds the job complete."""
    job_id, _ = board.submit(SEARCH)
    board.finish(claimed(board, job_id, "original"), Outcome())
    seen: list[Picture | None] = []
    names = [f"part-{number}" for number in range(6)]
    adding = [
        threading.Thread(target=lambda name=name: seen.append(board.add_closed_step(job_id, name, Outcome())))
        for name in names
    ]
    for thread in adding:
        thread.start()
    for thread in adding:
        thread.join()
    assert any({step.name for step in picture.steps} >= set(names) for picture in seen if picture is not None)
