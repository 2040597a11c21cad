"""Writes of one session count in the order of their acceptance, whichever job runs last: as jobs, in memory."""

from collections.abc import Sequence

from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.ingest import Extend, IngestResult
from querymill_shared.contracts.jobs import JobRequest
from tests.fixtures.conversation_jobs import found, session
from tests.fixtures.jobs import accepted
from tests.fixtures.world import World

DROP = DropDocuments(collection="chats", retriever="conversations", ids=("s",))


def whole(*texts: str) -> IngestConversations:
    return IngestConversations(collection="chats", documents=(session("s", *texts),))


def live(name: str, text: str) -> Extend:
    message = {"message_id": name, "text": text, "created_at": "2026-01-01T10:00:00Z"}
    return Extend.model_validate({
        "collection": "chats", "retriever": "conversations", "documents": [{"session_id": "s", "messages": [message]}
    ]})  # fmt: skip


def run_in_order(world: World, requests: Sequence[JobRequest], order: list[int]) -> list[str]:
    """Have requests accepted in their order and worked in another, and return their outcomes in their own."""
    jobs = accepted(world, requests)
    for number in order:
        world.ring(jobs[number], requests[number], requests[number].steps[0])
    results = [world.result(job_id) for job_id in jobs]
    return [result.documents[0].outcome for result in results if isinstance(result, IngestResult)]


def texts(world: World) -> list[str]:
    known = world.conversations.stored("chats", "s")
    return [] if known is None else [message.text for message in known.session.messages]


def test_a_late_session_stands_under_the_live_messages_that_were_accepted_after_it(world: World) -> None:
    requests: list[JobRequest] = [live("x", "lost"), whole("soup", "tea"), live("1", "coffee"), live("2", "ships")]
    assert run_in_order(world, requests, [2, 3, 0, 1]) == ["ingested"] * 4
    assert (texts(world), found(world, "tea lost")) == (["soup", "coffee", "ships"], [])


def test_a_late_live_message_of_a_session_that_was_replaced_does_nothing(world: World) -> None:
    assert run_in_order(world, [whole("a"), live("x", "lost"), whole("b")], [0, 2, 1])[1] == "superseded"
    assert texts(world) == ["b"]


def test_a_second_attempt_of_every_job_changes_nothing(world: World) -> None:
    requests: list[JobRequest] = [whole("soup"), live("a", "tea"), live("b", "ships"), live("a", "coffee")]
    run_in_order(world, requests, [0, 1, 2, 3])
    before = texts(world), world.conversations.generation("chats")
    for job_id, request in zip(world.board.recent(limit=9), reversed(requests), strict=False):
        world.ring(job_id, request, request.steps[0])
    assert (texts(world), world.conversations.generation("chats")) == before
