"""The flows run with the ports of `reports` alone, and go on from what other workers left on the board."""

import json

from querymill_shared.board import Outcome
from querymill_shared.contracts.reports.ingest import IngestReports, Report
from querymill_shared.hits import BoardHit
from querymill_workers.dispatch import run_step
from tests.fixtures.world import World
from tests.unit.retrievers.reports.test_search import SHIPS, SOUP, found, search

INGEST = IngestReports(collection="filings", documents=(Report.model_validate(SHIPS),))


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
