"""A job of one step, whose worker foresees how it ends, ends when the step closes."""

from dataclasses import replace
from typing import Any

import pytest
import redis

from querymill_shared.board import AttemptPart, Board, Outcome, Verdict, foresee
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.contracts.events import Done, StageFinished
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.hits import BoardHit
from querymill_shared.settings import Settings
from tests.fixtures.boards import claimed, empty_board

ALONE = ReportSearch(query="revenue?", collection="filings", deadline=60)
WITHOUT_DEADLINE = EmbedTexts(collection="c", texts=(TextToEmbed(id="1", text="nine ships"),))
BOTH = ALONE.model_copy(update={"hyde": True})
FOUND = Outcome(
    hits={"revenue?": (BoardHit("r1/page/1", 0.8, 3),)}, notes={"timing": {"embed": 1.5}}, ms=7.0,
    parts=(AttemptPart("embed", 1.5),),
)  # fmt: skip
DONE = Verdict("done", result='{"n": 1}')


def begin(board: Board, request: JobRequest = ALONE) -> str:
    return board.submit(request)[0]


@pytest.mark.parametrize("outcome", [FOUND, Outcome("failed", "no vectors", code="provider_down")])
@pytest.mark.parametrize("request_", [ALONE, WITHOUT_DEADLINE])
def test_what_is_foreseen_is_what_the_board_shows(board: Board, outcome: Outcome, request_: JobRequest) -> None:
    (claim,) = board.claim_steps(begin(board, request_), request_.steps[0], life="worker#1", limit=4).held
    foreseen = foresee(claim, outcome)
    shown = board.finish(claim, outcome)
    assert foreseen is not None
    assert shown is not None
    (step,), (closed,) = foreseen.steps, shown.steps
    assert step.ended == pytest.approx(closed.ended, abs=0.5)
    assert foreseen.record.deadline == (shown.record.deadline and pytest.approx(shown.record.deadline, abs=0.002))
    assert replace(step, ended=None) == replace(closed, ended=None)
    assert replace(foreseen.record, deadline=None) == replace(shown.record, deadline=None)
    assert dict(foreseen.hits) == dict(shown.hits)
    assert (foreseen.queries, foreseen.queues) == (shown.queries, shown.queues)
    assert foreseen.request == shown.request == request_


def test_nothing_is_foreseen_beside_other_steps(board: Board) -> None:
    job_id = begin(board, BOTH)
    assert foresee(claimed(board, job_id), FOUND) is None
    assert foresee(claimed(board, job_id, "hyde"), FOUND) is None


def test_nothing_is_foreseen_of_a_step_that_was_tried_before(board: Board) -> None:
    job_id = begin(board)
    board.postpone(claimed(board, job_id), delay_s=0, reason="again", cause="failure")
    assert foresee(claimed(board, job_id), FOUND) is None


def test_nothing_is_foreseen_of_a_job_that_is_replayed(board: Board) -> None:
    job_id = begin(board)
    board.finish(claimed(board, job_id), Outcome("failed", "again and again"))
    board.settle(job_id, Verdict("dead", reason="again and again"))
    assert board.replay(job_id)
    assert foresee(claimed(board, job_id), FOUND) is None


@pytest.mark.parametrize("request_", [ALONE, WITHOUT_DEADLINE])
def test_a_verdict_ends_the_job_with_its_step(board: Board, request_: JobRequest) -> None:
    job_id, (name,) = begin(board, request_), request_.steps
    (claim,) = board.claim_steps(job_id, name, life="worker#1", limit=1).held
    assert board.finish(claim, FOUND, verdict=DONE) is None
    assert board.result(job_id) == '{"n": 1}'
    shown = board.picture(job_id)
    (step,) = shown.steps
    assert (shown.record.state, shown.record.open_steps, step.state) == ("done", 0, "done")
    # What was found and noted is in the result.
    assert (dict(shown.hits), dict(step.notes), step.code) == ({}, {}, None)
    told = [event for _, event in board.events(job_id)]
    assert told[-2:] == [StageFinished(stage=name, state="done", ms=7.0), Done(complete=True)]
    assert board.due() == []
    assert board.release_life("worker#1") == []


def test_one_script_ends_a_job_with_its_step(quiet_valkey_url: str) -> None:
    # Between two, the server could die: the sweeper would end the job without what its step had found.
    settings = Settings(redis_url=quiet_valkey_url)
    with empty_board(settings) as board, redis.Redis.from_url(quiet_valkey_url) as client:
        board.finish(claimed(board, begin(board)), FOUND, verdict=DONE)  # the server knows the script from now on
        claim = claimed(board, begin(board))
        client.config_resetstat()
        board.finish(claim, FOUND, verdict=DONE)
        commands: Any = client.info("commandstats")
        assert commands["cmdstat_evalsha"]["calls"] == 1


def test_what_the_step_of_a_job_that_fails_found_stays(board: Board) -> None:
    job_id = begin(board)
    board.finish(claimed(board, job_id), FOUND, verdict=Verdict("failed", reason="its texts cannot be read"))
    shown = board.picture(job_id)
    (step,) = shown.steps
    assert (shown.record.state, step.state) == ("failed", "done")
    assert dict(shown.hits) == dict(FOUND.hits)
    assert step.notes == FOUND.notes


def test_an_attempt_that_no_longer_holds_the_step_ends_nothing(board: Board) -> None:
    job_id = begin(board)
    slow = claimed(board, job_id)
    board.postpone(slow, delay_s=0, reason="taken for dead", cause="outage")
    held = claimed(board, job_id)
    board.finish(slow, FOUND, verdict=Verdict("failed", reason="of the attempt before"))
    assert board.picture(job_id).record.state == "running"
    assert board.finish(held, FOUND) is not None
    # Nor does it end what a later attempt has closed and not yet ended.
    board.finish(slow, FOUND, verdict=Verdict("failed", reason="of the attempt before"))
    assert board.picture(job_id).record.state == "running"


def test_a_verdict_beside_an_open_step_ends_the_step_alone(board: Board) -> None:
    job_id = begin(board, BOTH)
    shown = board.finish(claimed(board, job_id), FOUND, verdict=DONE)
    assert shown is not None  # nothing was told yet
    assert dict(shown.hits) == dict(FOUND.hits)
    record, steps = board.picture(job_id).record, board.picture(job_id).steps
    assert (record.state, record.open_steps) == ("running", 1)
    assert [step.state for step in steps] == ["done", "waiting"]


def test_a_verdict_of_a_job_that_is_over_changes_nothing(board: Board) -> None:
    job_id = begin(board)
    held = claimed(board, job_id)
    board.settle(job_id, Verdict("cancelled", reason="by its caller"))
    board.finish(held, FOUND, verdict=DONE)
    assert board.picture(job_id).record.state == "cancelled"
    assert board.result(job_id) is None
