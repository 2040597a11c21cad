"""The flows run with the ports of `reports` alone, and go on from what other workers left on the board."""

import json

from querymill_shared.board import Outcome
from querymill_shared.contracts.reports import ReportRequest
from querymill_shared.contracts.reports.ingest import IngestReport, IngestResult, Report
from querymill_shared.hits import BoardHit
from querymill_workers.dispatch import run_step
from querymill_workers.jobs.bell import Bell
from querymill_workers.retrievers.reports.flow import flow_of
from querymill_workers.retrievers.reports.ports import ReportPorts
from tests.fakes.narrow import narrowed
from tests.fixtures.world import World
from tests.unit.retrievers.reports.test_search import SHIPS, SOUP, found, search

INGEST = IngestReport(collection="filings", report=Report.model_validate(SHIPS))
WHOLE = search(hyde=True, multi_query=("synonym",), answer=True, judge=True)


def test_searching_and_ingesting_need_no_more_than_the_ports_of_reports(world: World) -> None:
    world.rewriter.replies = {"hyde": "| forty | million |", "synonym": "<turnover>"}
    ports = narrowed(world.ports, ReportPorts)
    requests: list[ReportRequest] = [INGEST, WHOLE]
    for request in requests:
        job_id = world.submit(request)
        bells = [Bell(job_id, step, request.queue_of(step)) for step in request.steps]
        while bells:
            bell = bells.pop(0)
            claim = world.board.claim(bell.job_id, bell.step)
            assert claim is not None
            bells += [bell for bell in flow_of(request).step(claim, ports) if bell.job_id == job_id]
        assert world.board.picture(job_id).record.state == "done"


def test_settling_at_the_deadline_needs_no_more_than_the_ports_of_reports(world: World) -> None:
    world.ingest(SHIPS)
    job_id = world.submit(WHOLE)
    world.ring(job_id, WHOLE, "original")
    flow_of(WHOLE).settle(world.board.picture(job_id), narrowed(world.ports, ReportPorts))
    assert found(world, job_id).results


ROUTING = {"documents": 1, "companies": ["Acme"], "period": "2022", "whole_collection": False, "reason": "given"}


def test_branches_finished_by_other_workers_are_fused(world: World) -> None:
    world.ingest(SHIPS, SOUP)
    request = search(multi_query=("variant",))
    job_id = world.submit(request)
    notes = {
        "original": {
            "timing": {"route": 0.25, "expand": 0.0},
            "texts": [],
            "usage": {"provider_calls": 1, "tokens": 2},
            "routing": ROUTING,
        },
        "variant": {
            "timing": {"route": 0.5},
            "texts": ["growth of revenue"],
            "usage": {"provider_calls": 2, "tokens": 12},
            "routing": ROUTING,
            "of_a_newer_release": True,
        },
    }
    for name, noted in notes.items():
        claim = world.board.claim(job_id, name)
        assert claim is not None
        hits = {f"query of {name}": (BoardHit("a1/page/2", 0.5, 1),)}
        assert world.board.finish(claim, Outcome(hits=hits, notes=json.loads(json.dumps(noted)))) is not None
    run_step.conclude(world.board.picture(job_id), world.ports)
    result = found(world, job_id)
    assert result.routing.model_dump(mode="json") == ROUTING
    assert result.expansion_texts == {"variant": ("growth of revenue",)}
    assert result.usage == {"provider_calls": 3, "tokens": 14}
    assert [stage.timing for stage in result.stages] == [{"route": 0.25, "expand": 0.0}, {"route": 0.5}]
    assert result.results[0].score == 0.6


def test_an_ingestion_finished_by_another_worker_is_concluded(world: World) -> None:
    job_id = world.submit(INGEST)
    claim = world.board.claim(job_id, "ingest")
    assert claim is not None
    assert world.board.finish(claim, Outcome(notes={"outcome": "ingested", "total": 2})) is not None
    run_step.conclude(world.board.picture(job_id), world.ports)
    result = world.result(job_id)
    assert isinstance(result, IngestResult)
    assert (result.outcome, result.total, result.embedding_job) == ("ingested", 2, None)
