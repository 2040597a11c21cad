"""What the steps of conversations leave on the board: any worker goes on from it."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from querymill_shared.board import Picture, Record, Step
from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.conversations.ranks import RankedSession, RankList, RecomputeRanks
from querymill_shared.contracts.conversations.search import ConversationSearch
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.sessions import ChatMessage, ChatSession
from querymill_workers.retrievers.conversations import search
from querymill_workers.retrievers.conversations.ranks import listing, recompute
from tests.fixtures.world import World

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
SESSION = ChatSession(
    session_id="s", name="Harbour", started_at=MOMENT, messages=(ChatMessage(message_id="a", text="the ships"),)
)
RANKED = {
    "session_id": "s", "name": "Harbour", "last_active": "2026-01-01T00:00:00Z", "rank": 0.204, "base": 0.02,
    "depth": 0.0, "reference": 0.0, "quality": 0.5, "recency": 1.0, "references": 0.0,
}  # fmt: skip


def noted(world: World, request: JobRequest) -> list[dict[str, Any]]:
    """Run a job, and give what its steps left on the board, as a server would hold it."""
    job_id = world.run(request)
    world.result(job_id)
    return [json.loads(json.dumps(step.notes)) for step in world.board.picture(job_id).steps]


def picture(*notes: dict[str, Any]) -> Picture:
    """Give a job whose steps are done and left these notes."""
    record = Record("j1", "kind", "talks", "normal", "running", 0.0, None, None, "", 0)
    steps = tuple(
        Step(f"step-{place}", "done", 1, started=1.0, ended=1.5, notes=note) for place, note in enumerate(notes)
    )
    return Picture(record, steps, {}, {}, None)


def test_a_search_notes_its_result_and_the_time_of_its_phases(world: World) -> None:
    world.run(IngestConversations(collection="talks", documents=(SESSION,)))
    (notes,) = noted(world, ConversationSearch(collection="talks", query="ships", now=MOMENT))
    assert list(notes) == ["found", "timing"]
    assert list(notes["timing"]) == ["recall", "vectors", "rank", "show"]
    assert notes["found"]["results"][0]["started_at"] == "2026-01-01T00:00:00Z"
    assert notes["found"]["results"][0]["marks"] == [[4, 9]]
    assert notes["found"]["usage"] == {"provider_calls": 1, "tokens": 1}


def test_a_search_that_another_worker_noted_is_read_and_told_how_it_went() -> None:
    found = {
        "job_id": "j1", "kind": "conversations", "state": "done", "total": 0, "complete": True, "degraded": [],
        "stages": [], "timing": {}, "usage": {"provider_calls": 0, "tokens": 0}, "query": "ships",
        "collection": "talks", "results": [], "scoring": "bm25",
        "understanding": {
            "searched": "ships", "intent": "recap", "importance": 0.0, "mode": "normal", "keywords": ["ships"],
            "time": None, "corrections": [], "synonyms": [], "dropped": [],
        },
        "why_not": None,
    }  # fmt: skip
    seen = picture({"found": found, "timing": {"recall": 1.5, "rank": 0.5, "show": 0.1}, "written_later": True})
    request = ConversationSearch(collection="talks", query="ships")
    result = search.to_result(request, seen, search.ENDING.notes.of(seen.steps[0]))
    assert (result.understanding.searched, result.scoring, result.results) == ("ships", "bm25", ())
    assert (result.timing["recall_ms"], result.stages[0].timing) == (1.5, {"recall": 1.5, "rank": 0.5, "show": 0.1})


def test_a_list_of_ranks_notes_its_rows(world: World) -> None:
    world.run(IngestConversations(collection="talks", documents=(SESSION,)))
    assert noted(world, RankList(collection="talks", now=MOMENT)) == [
        {"results": [RANKED | {"rank": pytest.approx(0.204)}], "waiting": 1}
    ]


def test_a_list_of_ranks_that_another_worker_noted_is_read() -> None:
    seen = picture({"results": [RANKED], "waiting": 3})
    result = listing.to_result(RankList(collection="talks"), seen, listing.ENDING.notes.of(seen.steps[0]))
    assert (result.waiting, result.total) == (3, 1)
    assert result.results == (RankedSession.model_validate(RANKED),)


def test_an_update_notes_two_counts_and_of_a_rebuild_the_part_that_activated_it_three(world: World) -> None:
    world.run(IngestConversations(collection="talks", documents=(SESSION,)))
    assert noted(world, RecomputeRanks(collection="talks", scope="changed")) == [{"sessions": 1, "references": 0}]
    assert noted(world, RecomputeRanks(collection="talks", parts=2)) == [
        {}, {"sessions": 1, "references": 0, "version": 1},
    ]  # fmt: skip


def test_a_rebuild_whose_parts_other_workers_noted_is_done(world: World) -> None:
    request = RecomputeRanks(collection="talks", parts=2)
    job_id = world.submit(request)
    seen = picture({"sessions": 5, "references": 4, "version": 9}, {})
    record = world.board.picture(job_id).record
    recompute.conclude(Picture(record, seen.steps, {}, {}, request), request, world.ports)
    result = world.result(job_id)
    assert (result.total, result.complete, result.model_dump()["version"]) == (5, True, 9)


@pytest.mark.parametrize(("dead", "state"), [(False, "failed"), (True, "dead")])
def test_a_rebuild_ends_with_the_reason_of_the_part_that_failed(world: World, dead: bool, state: str) -> None:
    request = RecomputeRanks(collection="talks", parts=2)
    job_id = world.submit(request)
    steps = (Step("part-0", "done", 1), Step("part-1", "failed", 3, reason="out of memory", notes={"dead": dead}))
    recompute.conclude(Picture(world.board.picture(job_id).record, steps, {}, {}, request), request, world.ports)
    record = world.board.picture(job_id).record
    assert (record.state, record.reason) == (state, "out of memory")


def test_a_rebuild_waits_for_its_last_part(world: World) -> None:
    request = RecomputeRanks(collection="talks", parts=2)
    job_id = world.submit(request)
    steps = (Step("part-0", "failed", 3, reason="out of memory"), Step("part-1", "running", 1))
    recompute.conclude(Picture(world.board.picture(job_id).record, steps, {}, {}, request), request, world.ports)
    assert not world.board.picture(job_id).record.is_over
