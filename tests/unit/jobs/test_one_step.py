import json
from typing import Literal

import pytest

from querymill_shared.board import Claim, Outcome, Picture, Step
from querymill_shared.contracts.embed import EmbedResult, EmbedTexts
from querymill_shared.settings import Settings
from querymill_workers.jobs.flow import Flow
from querymill_workers.jobs.notes import FailureNotes, Notes
from querymill_workers.jobs.one_step import Ending, conclude, hand_in, one_step
from tests.fakes.jobs import CommonPorts, claimed, picture_of
from tests.fixtures.boards import let_pass, new_board

REQUEST = EmbedTexts.model_validate({"collection": "c", "texts": [{"id": "a", "text": "ships"}]})


class ModelNotes(Notes):
    """The notes of the step under test."""

    model: str


def to_result(request: EmbedTexts, picture: Picture, notes: ModelNotes) -> EmbedResult:
    return EmbedResult(
        job_id=picture.record.job_id, total=len(request.texts), complete=True, model=notes.model, dimensions=2
    )


ENDING = Ending(ModelNotes, to_result)


@pytest.fixture
def ports() -> CommonPorts:
    return CommonPorts()


def settled(job_id: str, ports: CommonPorts) -> dict[str, object] | None:
    result = ports.board.result(job_id)
    return None if result is None else json.loads(result)


def test_handing_in_closes_the_step_and_settles_the_job_with_its_result(ports: CommonPorts) -> None:
    claim = claimed(REQUEST, ports)
    hand_in(claim, REQUEST, ModelNotes(model="words"), ENDING, ports)
    result = settled(claim.job_id, ports)
    assert result is not None
    assert (result["job_id"], result["model"], result["total"]) == (claim.job_id, "words", 1)
    picture = ports.board.picture(claim.job_id)
    assert picture.record.state == "done"
    assert picture.steps[0].state == "done"


def test_an_attempt_that_lost_its_step_hands_in_nothing() -> None:
    ports = CommonPorts(board=new_board(Settings(querymill_lease_s=10)))
    late = claimed(REQUEST, ports)
    let_pass(ports.board, 11)
    assert ports.board.claim(late.job_id, "embed") is not None
    hand_in(late, REQUEST, ModelNotes(model="of the late one"), ENDING, ports)
    picture = ports.board.picture(late.job_id)
    assert (picture.record.state, picture.steps[0].notes) == ("running", {})
    assert settled(late.job_id, ports) is None


@pytest.mark.parametrize(("dead", "state"), [(False, "failed"), (True, "dead")])
def test_a_failed_step_ends_the_job_with_its_reason(
    ports: CommonPorts, dead: bool, state: Literal["failed", "dead"]
) -> None:
    claim = claimed(REQUEST, ports)
    notes = FailureNotes(dead=dead).for_board()
    picture = ports.board.finish(claim, Outcome(state="failed", reason="embedding refused: HTTP 400", notes=notes))
    assert picture is not None
    conclude(picture, REQUEST, ENDING, ports)
    record = ports.board.picture(claim.job_id).record
    assert (record.state, record.reason) == (state, "embedding refused: HTTP 400")


@pytest.mark.parametrize("state", ["waiting", "running"])
def test_an_open_step_keeps_the_job_open(ports: CommonPorts, state: Literal["waiting", "running"]) -> None:
    job_id, _ = ports.board.submit(REQUEST)
    picture = picture_of(REQUEST, Step("embed", state, 1))
    conclude(picture, REQUEST, ENDING, ports)
    assert ports.board.picture(job_id).record.state == "queued"


def test_a_job_whose_worker_died_after_closing_its_step_is_settled_by_the_next_look(ports: CommonPorts) -> None:
    claim = claimed(REQUEST, ports)
    ports.board.finish(claim, Outcome(notes=ModelNotes(model="words").for_board()))

    def step(claim: Claim, request: EmbedTexts, ports: CommonPorts) -> None:
        raise AssertionError("a closed step is not run again")

    flow = one_step(REQUEST, step, ENDING)
    assert flow.conclude(ports.board.picture(claim.job_id), ports) == []
    result = settled(claim.job_id, ports)
    assert result is not None
    assert result["model"] == "words"


def test_a_job_of_one_step_fails_at_its_deadline(ports: CommonPorts) -> None:
    claim = claimed(REQUEST, ports)
    flow: Flow[CommonPorts] = one_step(REQUEST, lambda claim, request, ports: None, ENDING)
    flow.settle(ports.board.picture(claim.job_id), ports)
    assert ports.board.picture(claim.job_id).record.reason == "its deadline passed"
