"""Whole sessions and live messages are ingested, and sessions dropped: as jobs, in memory."""

from datetime import UTC, datetime

import pytest

from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.documents import DropDocuments, DropResult
from querymill_shared.contracts.ingest import Extend, ExtendResult
from querymill_shared.contracts.sessions import MAX_MESSAGES, ChatSession
from querymill_workers.retrievers.conversations.write.derived import prepare_session
from tests.fixtures.conversation_jobs import (
    POOLS,
    UPDATE,
    bring_up_to_date,
    found,
    ingest,
    open_updates,
    reference,
    session,
)
from tests.fixtures.conversations import START
from tests.fixtures.world import World


def test_a_session_is_found_by_its_words_and_the_same_again_changes_nothing(world: World) -> None:
    result = ingest(world, "s", *POOLS)
    assert (result.kind, result.documents[0].outcome, result.total) == ("ingest_conversations", "ingested", 2)
    assert found(world, "the connection pool") == ["s"]
    before = world.conversations.generation("chats")
    assert ingest(world, "s", *POOLS).documents[0].outcome == "unchanged"
    assert world.conversations.generation("chats") == before


def test_an_edit_replaces_the_words_and_the_references(world: World) -> None:
    ingest(world, "early", *POOLS)
    ingest(world, "late", *POOLS, day=1)
    assert bring_up_to_date(world).total == 2
    assert reference(world, "early") == 0.1
    ingest(world, "late", "tomato soup with basil", day=1)
    bring_up_to_date(world)
    assert reference(world, "early") == 0
    assert found(world, "soup") == ["late"]
    assert found(world, "connection pool") == ["early"]


def test_live_messages_are_added_and_edited_and_counted_once(world: World) -> None:
    told = {"session_id": "s", "messages": [{"message_id": "a", "text": "soup", "created_at": "2026-01-01T10:00:00Z"}]}
    request = Extend.model_validate({"collection": "chats", "retriever": "conversations", "documents": [told]})
    for outcome in ("ingested", "unchanged"):
        result = world.result(world.run(request))
        assert isinstance(result, ExtendResult)
        assert (result.documents[0].outcome, result.total) == (outcome, 1)
    more = {"session_id": "s", "messages": [{"message_id": "b", "text": "ships"}, {"message_id": "a", "text": "tea"}]}
    world.run(Extend.model_validate({"collection": "chats", "retriever": "conversations", "documents": [more]}))
    (known,) = world.conversations.sessions("chats", ["s"]).values()
    assert [message.text for message in known.messages] == ["tea", "ships"]
    assert known.started_at == datetime(2026, 1, 1, 10, tzinfo=UTC)
    assert (found(world, "soup"), found(world, "ships")) == ([], ["s"])


def test_a_session_of_live_messages_without_times_begins_when_the_first_was_accepted(world: World) -> None:
    told = {"session_id": "s", "messages": [{"message_id": "a", "text": "soup"}]}
    request = Extend.model_validate({"collection": "chats", "retriever": "conversations", "documents": [told]})
    job_id = world.run(request)
    (known,) = world.conversations.sessions("chats", ["s"]).values()
    accepted = world.board.picture(job_id).record.created
    assert abs(known.started_at.timestamp() - accepted) < 0.001


def test_a_dropped_session_is_not_found_and_refers_to_nothing(world: World) -> None:
    ingest(world, "early", *POOLS)
    ingest(world, "late", *POOLS, day=1)
    bring_up_to_date(world)
    for outcome in ("forgotten", "absent"):
        result = world.result(world.run(DropDocuments(collection="chats", retriever="conversations", ids=("late",))))
        assert isinstance(result, DropResult)
        assert result.outcome == outcome
    assert found(world, "connection pool") == ["early"]
    bring_up_to_date(world)
    assert reference(world, "early") == 0


@pytest.mark.parametrize("stored_by", ["ingestion", "live messages"])
def test_an_attempt_after_one_that_was_killed_once_it_had_stored_does_what_follows(
    world: World, stored_by: str
) -> None:
    told = session("s", *POOLS)
    world.conversations.put("chats", prepare_session(told, world.ports.technical_keywords), replacing=None)
    asked = {"session_id": "s", "messages": [one.model_dump() for one in told.messages]}
    live = Extend.model_validate({"collection": "chats", "retriever": "conversations", "documents": [asked]})
    whole = IngestConversations(collection="chats", documents=(told,))
    world.result(world.run(whole if stored_by == "ingestion" else live))
    assert world.board.collections("conversations") == {"chats"}
    assert len(open_updates(world)) == 1


def test_the_same_session_again_asks_for_nothing_where_nothing_waits(world: World) -> None:
    ingest(world, "s", *POOLS)
    for job_id in open_updates(world):
        world.ring(job_id, UPDATE, "update")
    assert ingest(world, "s", *POOLS).documents[0].outcome == "unchanged"
    assert open_updates(world) == []


def test_an_update_renames_a_session_and_leaves_what_it_does_not_name(world: World) -> None:
    ingest(world, "s", *POOLS)
    update = {"session_id": "s", "name": "Pools", "messages": [{"message_id": "9", "text": "ships"}]}
    world.run(Extend.model_validate({"collection": "chats", "retriever": "conversations", "documents": [update]}))
    (known,) = world.conversations.sessions("chats", ["s"]).values()
    assert (known.name, known.user_name, known.started_at) == ("Pools", None, START)
    assert [message.message_id for message in known.messages] == ["0", "1", "9"]


def test_a_session_that_an_update_would_make_too_long_is_refused_and_stays(world: World) -> None:
    whole = [{"message_id": str(place), "text": "x"} for place in range(MAX_MESSAGES)]
    long = ChatSession.model_validate({"session_id": "s", "started_at": START, "messages": whole})
    world.result(world.run(IngestConversations(collection="chats", documents=(long,))))
    before = world.conversations.generation("chats")
    update = {"session_id": "s", "messages": [{"message_id": "one more", "text": "y"}]}
    job_id = world.run(
        Extend.model_validate({"collection": "chats", "retriever": "conversations", "documents": [update]})
    )
    record = world.board.picture(job_id).record
    assert (record.state, record.reason) == (
        "failed", f"messages: session 's' would have more than {MAX_MESSAGES} messages",
    )  # fmt: skip
    assert world.conversations.generation("chats") == before
    edit = {"session_id": "s", "messages": [{"message_id": "7", "text": "y"}]}
    world.result(
        world.run(Extend.model_validate({"collection": "chats", "retriever": "conversations", "documents": [edit]}))
    )
    assert found(world, "y") == ["s"]
