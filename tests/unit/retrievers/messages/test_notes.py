"""What the steps of messages leave on the board: the JSON that a fleet of the release before writes and reads."""

from typing import Any

import pytest

from querymill_shared.board import Outcome, Step
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.messages.ingest import IngestSession
from querymill_shared.contracts.messages.life import EmbedMessages, ForgetSession, ReembedMessages
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_workers.dispatch import journey
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.jobs.notes import Notes
from querymill_workers.retrievers.messages.embed import EmbedNotes
from querymill_workers.retrievers.messages.forget import ForgetNotes
from querymill_workers.retrievers.messages.hits import SearchNotes
from querymill_workers.retrievers.messages.ingest import IngestNotes
from querymill_workers.retrievers.messages.reembed import PartNotes
from tests.fixtures.chats import session
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
    "best_below_threshold": None, "skipped": 2, "compared": False, "degraded": [["embed", "away"], ["words", "stale"]],
}  # fmt: skip
#: The JSON of each step's notes, key by key as the release before wrote it.
BEFORE: list[tuple[type[Notes], dict[str, Any]]] = [
    (IngestNotes, {"outcome": "ingested", "total": 4, "embedding_job": "j2"}),
    (IngestNotes, {"outcome": "unchanged", "total": 4, "embedding_job": None}),
    (EmbedNotes, {"total": 4, "usage": USAGE}),
    (PartNotes, {"embedded": 4, "usage": USAGE}),
    (ForgetNotes, {"outcome": "absent", "total": 0}),
    (SearchNotes, {"found": FOUND, "timing": {"embed": 1.5, "search": 2.0}, "usage": USAGE}),
]


@pytest.mark.parametrize(("of", "noted"), BEFORE)
def test_notes_of_the_release_before_are_read_and_written_as_they_were(of: type[Notes], noted: dict[str, Any]) -> None:
    step = Step("step", "done", 1, notes=noted)
    assert of.of(step).for_board() == noted


@pytest.mark.parametrize(("of", "noted"), BEFORE)
def test_a_note_that_a_later_release_adds_is_ignored(of: type[Notes], noted: dict[str, Any]) -> None:
    assert of.of(Step("step", "done", 1, notes=noted | {"mood": "calm"})).for_board() == noted


def test_the_missing_parts_are_named_and_stay_pairs_on_the_board() -> None:
    found = SearchNotes.model_validate({"found": FOUND}).found
    assert [(gap.stage, gap.reason) for gap in found.degraded] == [("embed", "away"), ("words", "stale")]
    assert found.model_dump(mode="json")["degraded"] == [["embed", "away"], ["words", "stale"]]


def finish(world: World, request: JobRequest, *noted: dict[str, Any]) -> str:
    """Close the steps of a job with notes that another release wrote, and go on from the last one."""
    job_id = world.submit(request)
    for step, notes in zip(request.steps, noted, strict=True):
        claim = world.board.claim(job_id, step)
        assert claim is not None
        world.board.finish(claim, Outcome(notes=notes))
    journey.conclude(world.board.picture(job_id), world.ports)
    return job_id


def test_a_job_that_the_release_before_began_is_concluded_by_this_one(world: World) -> None:
    (_, ingested), _, (_, embedded), _, (_, forgotten), (_, found) = BEFORE
    ingest = finish(world, IngestSession(collection="c", session=session("s", "x")), ingested)
    assert world.result(ingest).model_dump(include={"outcome", "total", "embedding_job", "complete"}) == {
        "outcome": "ingested", "total": 4, "embedding_job": "j2", "complete": True,
    }  # fmt: skip
    embed = world.result(finish(world, EmbedMessages(collection="c", session_id="s"), embedded))
    assert (embed.total, embed.usage) == (4, USAGE)
    assert world.result(finish(world, ForgetSession(collection="c", session_id="s"), forgotten)).total == 0
    search = world.result(finish(world, MessageSearch(collection="c", query="ships"), found))
    assert (search.total, search.complete, search.usage) == (3, False, USAGE)
    assert [gap.model_dump() for gap in search.degraded] == [
        {"stage": "embed", "reason": "away"}, {"stage": "words", "reason": "stale"},
    ]  # fmt: skip
    assert {"embed_ms": 1.5, "search_ms": 2.0}.items() <= search.timing.items()


def test_parts_that_the_release_before_embedded_count_in_the_total(world: World) -> None:
    world.result(world.run(IngestSession(collection="c", session=session("s", "ships"))))
    request = ReembedMessages(collection="c", model="words")
    result = world.result(finish(world, request, *[{"embedded": number, "usage": USAGE} for number in range(8)]))
    assert (result.total, result.usage) == (28, {"provider_calls": 8, "tokens": 16})


def test_the_steps_of_this_release_note_the_same_keys(world: World) -> None:
    ingest = world.run(IngestSession(collection="c", session=session("s", "nine ships")))
    embed = str(world.result(ingest).model_dump()["embedding_job"])
    world.embeddings.fails_with = Unavailable("away")
    search = world.run(MessageSearch(collection="c", query="ships"))
    jobs: list[tuple[str, type[Notes]]] = [(ingest, IngestNotes), (embed, EmbedNotes), (search, SearchNotes)]
    # Forgetting takes the notes of the writes that it undoes, so they are read before.
    noted = {of: world.board.picture(job_id).steps[0].notes for job_id, of in jobs}
    forget = world.run(ForgetSession(collection="c", session_id="s"))
    noted[ForgetNotes] = world.board.picture(forget).steps[0].notes
    expected = {of: set(before) for of, before in BEFORE}
    assert {of: set(notes) for of, notes in noted.items()} == {of: expected[of] for of in noted}
    assert set(noted[SearchNotes]["found"]) == set(FOUND) | {"codes"}
    assert noted[SearchNotes]["found"]["degraded"] == [["embed", "away"]]
