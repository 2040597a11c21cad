"""What the steps of messages leave on the board: any worker goes on from it."""

from typing import Any

from querymill_shared.board import Outcome
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_workers.dispatch import run_step
from tests.fixtures.world import World

USAGE = {"provider_calls": 1, "tokens": 2}
HIT: dict[str, Any] = {
    "vector_id": "v1", "message_id": "a", "session_id": "s", "content": "nine ships", "vector_type": "message",
    "similarity": 0.5, "created_at": "2026-01-01T10:00:00Z", "session_name": None, "user_name": None,
    "message_role": "user", "raw_similarity": None, "band": "low", "score": 0.0, "found_by": ["substring"],
    "must_use": False, "explanation": {"formula": "contains the query"},
}  # fmt: skip
FOUND: dict[str, Any] = {
    "mode": "text", "results": [HIT], "total": 3, "total_is_exact": True, "why": "away", "searched": None,
    "best_below_threshold": None, "skipped": 2, "compared": False,
    "degraded": [{"stage": "embed", "reason": "away", "code": "provider_down"}, {"stage": "words", "reason": "stale"}],
}  # fmt: skip


def finish(world: World, request: JobRequest, *noted: dict[str, Any]) -> str:
    """Close the steps of a job with notes that other workers wrote, and go on from the last one."""
    job_id = world.submit(request)
    for step, notes in zip(request.steps, noted, strict=True):
        claim = world.board.claim(job_id, step)
        assert claim is not None
        world.board.finish(claim, Outcome(notes=notes))
    run_step.conclude(world.board.picture(job_id), world.ports)
    return job_id


def test_a_job_that_another_worker_began_is_concluded(world: World) -> None:
    found = {"found": FOUND, "timing": {"embed": 1.5, "search": 2.0}, "usage": USAGE}
    search = world.result(finish(world, MessageSearch(collection="c", query="ships"), found))
    assert (search.total, search.complete, search.usage) == (3, False, USAGE)
    assert [(gap.stage, gap.reason, gap.code) for gap in search.degraded] == [
        ("embed", "away", "provider_down"), ("words", "stale", None),
    ]  # fmt: skip
    assert {"embed_ms": 1.5, "search_ms": 2.0}.items() <= search.timing.items()
