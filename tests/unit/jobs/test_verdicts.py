import pytest

from querymill_shared.board import Step
from querymill_shared.contracts.embed import EmbedResult, EmbedTexts
from querymill_shared.contracts.jobs import decode_result
from querymill_shared.contracts.results import Degradation
from querymill_workers.jobs.verdicts import done, lost
from tests.fakes.jobs import picture_of

REQUEST = EmbedTexts.model_validate({"collection": "c", "texts": [{"id": "a", "text": "ships"}]})


@pytest.mark.parametrize("degraded", [(), (Degradation(stage="hyde", reason="cut by the deadline"),)])
def test_a_job_with_a_result_is_done_and_says_whether_it_is_complete(degraded: tuple[Degradation, ...]) -> None:
    result = EmbedResult(job_id="j", total=1, complete=not degraded, degraded=degraded, model="m", dimensions=2)
    verdict = done(result)
    assert (verdict.state, verdict.complete, verdict.reason) == ("done", not degraded, "")
    assert decode_result(verdict.result) == result


@pytest.mark.parametrize(
    ("notes", "state"),
    [
        ([{}], "failed"),
        ([{"dead": False}], "failed"),
        ([{"dead": True}], "dead"),
        ([{"timing": {}}, {"dead": True}], "dead"),
        ([], "failed"),
    ],
)
def test_a_job_without_a_result_is_dead_if_the_workers_of_a_step_kept_dying(
    notes: list[dict[str, object]], state: str
) -> None:
    steps = [Step(f"step-{number}", "failed", 3, notes=noted) for number, noted in enumerate(notes)]
    verdict = lost(picture_of(REQUEST, *steps), "its workers died")
    assert (verdict.state, verdict.reason, verdict.result) == (state, "its workers died", "")
