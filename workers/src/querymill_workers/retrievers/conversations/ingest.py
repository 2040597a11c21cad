"""Ingest whole sessions and live messages, and drop sessions.

Only one writer at a time changes a session: it reads the stored session, merges the change, and writes the index
entry and the rows before the next writer reads. Entry and rows are committed together, so a search that sees the new
generation finds both, and a killed worker leaves neither. Ranks are updated in the background.
"""

from collections.abc import Sequence
from typing import Final

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.conversations.ingest import (
    DropConversation,
    IngestConversation,
    IngestConversationResult,
    Outcome,
    SessionUpdate,
    UpdateConversation,
)
from querymill_shared.contracts.sessions import MAX_MESSAGES, ChatMessage, ChatSession
from querymill_workers.jobs import one_step
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import Refused
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending
from querymill_workers.jobs.ports import Common
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.sessions import SPACE, PreparedConversation, StoredConversation
from querymill_workers.retrievers.conversations.prepare import entry_of, prepare_session
from querymill_workers.retrievers.conversations.ranks.recompute import update_soon, update_what_waits

#: The requests that change one session.
SessionChange = IngestConversation | UpdateConversation | DropConversation


class ChangeNotes(Notes):
    """The outcome for a session; ``total`` counts its messages after the change."""

    session_id: str
    outcome: Outcome
    total: int


def step(claim: Claim, request: IngestConversation, ports: ConversationPorts) -> Sequence[Bell]:
    """Ingest one whole session. Ingesting the same content again changes nothing."""
    prepared = prepare_session(request.session, ports.technical_keywords)
    with ports.conversations.changing(request.collection, request.session.session_id):
        known = ports.conversations.stored(request.collection, request.session.session_id)
        outcome = store_session(request.collection, prepared, known, ports)
    return hand_in(claim, request, prepared.session, outcome, ports)


def update(claim: Claim, request: UpdateConversation, ports: ConversationPorts) -> Sequence[Bell]:
    """Add messages to the stored session, and replace its messages that have the same ids."""
    collection, session_id = request.collection, request.update.session_id
    with ports.conversations.changing(collection, session_id):
        known = ports.conversations.stored(collection, session_id)
        session = merge_update(None if known is None else known.session, request.update)
        outcome = store_session(collection, prepare_session(session, ports.technical_keywords), known, ports)
    return hand_in(claim, request, session, outcome, ports)


def drop(claim: Claim, request: DropConversation, ports: ConversationPorts) -> Sequence[Bell]:
    """Drop a session."""
    collection, session_id = request.collection, request.session_id
    with ports.conversations.changing(collection, session_id):
        ports.words.drop(collection, SPACE, [session_id])
        was_there = ports.conversations.drop(collection, session_id)
    bells = update_soon(collection, ports) if was_there else update_what_waits(collection, ports)
    outcome: Outcome = "dropped" if was_there else "unchanged"
    one_step.hand_in(claim, request, ChangeNotes(session_id=session_id, outcome=outcome, total=0), ENDING, ports)
    return bells


def conclude(picture: Picture, request: SessionChange, ports: Common) -> None:
    """Settle the job with the outcome for the session."""
    one_step.conclude(picture, request, ENDING, ports)


def store_session(
    collection: str, prepared: PreparedConversation, known: StoredConversation | None, ports: ConversationPorts
) -> Outcome:
    """Store a session and its index entry in place of the known ones, unless nothing has changed."""
    before = None if known is None else known.revision
    if prepared.revision == before:
        return "unchanged"
    # Every writer locks the index entry before the rows, so no two of them deadlock.
    ports.words.put(collection, SPACE, [entry_of(prepared.session)])
    ports.conversations.put(collection, prepared, replacing=before)
    return "ingested"


def hand_in(
    claim: Claim, request: SessionChange, session: ChatSession, outcome: Outcome, ports: ConversationPorts
) -> Sequence[Bell]:
    """Announce the collection, ask for an update of its ranks, and finish the job."""
    collection = request.collection
    # Even if nothing changed: an earlier attempt may have been killed right after it stored the session.
    ports.board.add_collections("conversations", [collection])
    bells = update_soon(collection, ports) if outcome == "ingested" else update_what_waits(collection, ports)
    notes = ChangeNotes(session_id=session.session_id, outcome=outcome, total=len(session.messages))
    one_step.hand_in(claim, request, notes, ENDING, ports)
    return bells


def merge_update(known: ChatSession | None, update: SessionUpdate) -> ChatSession:
    """Merge an update into its session, or begin a new session with it.

    Raises:
        Refused: The session would have no start time, or too many messages.
    """
    if known is None:
        return _begin_session(update)
    coming: dict[str | None, ChatMessage] = {message.message_id: message for message in update.messages}
    replaced = [coming.pop(message.message_id, message) for message in known.messages]
    messages = (*replaced, *coming.values())
    if len(messages) > MAX_MESSAGES:
        raise Refused(f"messages: session {known.session_id!r} would have more than {MAX_MESSAGES} messages")
    given = {name: getattr(update, name) for name in ("name", "user_name", "started_at")}
    changes = {name: value for name, value in given.items() if value is not None}
    return known.model_copy(update={**changes, "messages": messages})


def _begin_session(update: SessionUpdate) -> ChatSession:
    times = [message.created_at for message in update.messages if message.created_at is not None]
    started_at = update.started_at or min(times, default=None)
    if started_at is None:
        raise Refused(f"started_at: required, as session {update.session_id!r} is new and its messages have no times")
    return ChatSession(
        session_id=update.session_id, name=update.name, user_name=update.user_name, started_at=started_at,
        messages=update.messages,
    )  # fmt: skip


def to_result(request: SessionChange, picture: Picture, notes: ChangeNotes) -> IngestConversationResult:
    """Build the result from the outcome."""
    return IngestConversationResult(
        job_id=picture.record.job_id, kind=request.kind, complete=True, session_id=notes.session_id,
        outcome=notes.outcome, total=notes.total,
    )  # fmt: skip


#: How each of these jobs ends.
ENDING: Final = Ending(ChangeNotes, to_result)
