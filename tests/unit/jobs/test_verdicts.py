import json
from dataclasses import replace
from typing import Literal

import pytest

from querymill_shared.board import AttemptPart, Step
from querymill_shared.board.attempts import encode_facts
from querymill_shared.contracts.costs import ModelCost
from querymill_shared.contracts.embed import EmbedResult, EmbedTexts
from querymill_shared.contracts.ingest import IngestedDocument
from querymill_shared.contracts.jobs import JobRequest, decode_result
from querymill_shared.contracts.modules.ingest import IngestModulesResult
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.results import Degradation
from querymill_workers.jobs.verdicts import done, lost, lost_search
from tests.fakes.jobs import picture_of

SEARCH = ReportSearch(collection="c", query="ships")
REQUEST = EmbedTexts.model_validate({"collection": "c", "texts": [{"id": "a", "text": "ships"}]})


@pytest.mark.parametrize("degraded", [(), (Degradation(stage="hyde", reason="cut by the deadline"),)])
def test_a_job_with_a_result_is_done_and_says_whether_it_is_complete(degraded: tuple[Degradation, ...]) -> None:
    result = EmbedResult(job_id="j", total=1, complete=not degraded, degraded=degraded, model="m", dimensions=2)
    verdict = done(result, picture_of(REQUEST))
    assert (verdict.state, verdict.complete, verdict.reason) == ("done", not degraded, "")
    assert decode_result(verdict.result) == result


@pytest.mark.parametrize(("outcome", "stays"), [("ingested", False), ("failed", True)])
def test_a_job_of_many_documents_stays_if_some_of_them_failed(
    outcome: Literal["ingested", "failed"], stays: bool
) -> None:
    documents = (IngestedDocument(document="a", outcome="ingested"), IngestedDocument(document="b", outcome=outcome))
    result = IngestModulesResult(job_id="j", collection="c", total=2, complete=not stays, documents=documents)
    assert done(result, picture_of(REQUEST)).stays is stays


def test_a_result_says_what_all_attempts_at_all_steps_cost() -> None:
    def facts(nanos: int) -> str:
        cost = ModelCost(model="m", calls=1, input_tokens=10, output_tokens=2, cost_nanos=nanos, currency="USD")
        return encode_facts(None, [AttemptPart("expand", 5.0, costs=(cost,))])

    put_back = json.dumps([1, 1, 2, "w", 3, "outages", "PostgreSQL: DiskFull", facts(100)])
    steps = Step("a", "done", 2, past=put_back, facts=facts(20)), Step("b", "failed", 1, facts=facts(3))
    result = EmbedResult(job_id="j", total=1, complete=True, model="m", dimensions=2)
    (cost,) = decode_result(done(result, picture_of(REQUEST, *steps)).result).costs
    assert (cost.calls, cost.input_tokens, cost.output_tokens, cost.cost_nanos) == (3, 30, 6, 123)


@pytest.mark.parametrize(("request_", "stays"), [(REQUEST, True), (SEARCH, False)])
def test_a_job_that_failed_stays_if_nobody_may_be_waiting_for_it(request_: JobRequest, stays: bool) -> None:
    assert lost(picture_of(request_, Step("embed", "failed", 3)), "no").stays is stays


def test_a_search_without_success_gives_the_reason_of_every_step() -> None:
    steps = Step("original", "failed", 1, reason="PostgreSQL: away"), Step("hyde", "running", 1)
    verdict = lost_search(picture_of(SEARCH, *steps))
    assert verdict.state == "failed"
    assert verdict.reason.endswith(": original: PostgreSQL: away; hyde: cut by the deadline")


def test_a_job_that_ends_while_its_step_is_tried_again_has_the_code_of_the_attempt_before() -> None:
    put_back = json.dumps([1, 1, 2, "w", 3, "outages", "PostgreSQL: DiskFull", '["store_down"]'])
    step = Step("original", "running", 2, reason="PostgreSQL: DiskFull", past=put_back)
    assert step.code == "store_down"
    assert lost_search(picture_of(SEARCH, step)).code == "store_down"
    assert replace(step, state="failed", facts='["deadline"]').code == "deadline"
    assert lost_search(picture_of(SEARCH, replace(step, past=""))).code is None


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
