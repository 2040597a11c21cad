"""Ingest a session: its messages become searchable by text at once, and a job that follows makes their vectors.

Rows, words and the session's version change in one transaction. A passage whose content has not changed keeps its
vector.
"""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Annotated, Any, Final, Literal

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.fields import Growing
from querymill_shared.contracts.messages.ingest import IngestSession, IngestSessionResult
from querymill_shared.contracts.sessions import ChatSession, message_key
from querymill_workers.documents.late_writes import bury_replaced
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.revisions import Revision
from querymill_workers.ledger.ports import Standing, Subject, version_of
from querymill_workers.retrievers.messages.embed import EMBEDDABLE
from querymill_workers.retrievers.messages.ports import (
    NEIGHBOURS,
    SPACES,
    ChangedTexts,
    DropPorts,
    MessagePorts,
    PreparedSession,
)
from querymill_workers.retrievers.messages.rules.neighbours import changed_around, entries_of
from querymill_workers.retrievers.messages.rules.sessions import (
    CONTEXT_VERSION,
    Message,
    MessageText,
    VectorType,
    passages_of,
)
from querymill_workers.text.words import words
from querymill_workers.vectors.embedding import submit_embedding
from querymill_workers.words.ports import WordUnit

#: The name of `messages` in the ledger.
KIND: Final = "messages"
#: Texts that are indexed in one call.
INDEX_BATCH: Final = 500

Outcome = Literal["ingested", "unchanged", "superseded", "forgotten"]


class IngestNotes(Notes):
    """What ingestion did, and the id of the job that makes the missing vectors."""

    outcome: Annotated[Outcome, Growing]
    total: int
    embedding_job: str | None = None


def step(claim: Claim, request: IngestSession, ports: MessagePorts) -> Sequence[Bell]:
    """Ingest one session, and submit an embedding job if vectors are missing. Unchanged content is not stored again."""
    collection, session_id = request.collection, request.session.session_id
    prepared = prepare_session(request.session)
    with ports.ledger.changing(collection, KIND, [subject_of(request.session)], version_of(claim)) as standings:
        bury_replaced(collection, KIND, standings, ports)
        outcomes, changed = store_rows(collection, [prepared], standings, ports)
        change_words(collection, changed, [prepared], ports)
    ports.sessions.grow(collection, sum(len(texts.added) for texts in changed.values()))
    ports.board.add_collections("messages", [collection])
    passages = {session_id: len(prepared.passages)}
    jobs, bells = submit_embedding(EMBEDDABLE, collection, passages, ports, lane=request.lane, token=claim.job_id)
    notes = IngestNotes(
        outcome=outcomes[session_id], total=len(prepared.passages), embedding_job=jobs[0] if jobs else None
    )
    hand_in(claim, request, notes, ENDING, ports)
    return bells


def subject_of(session: ChatSession) -> Subject:
    """Return what tombstones are matched against."""
    fields: dict[str, Any] = {
        "session_id": session.session_id,
        "user_name": session.user_name,
        "role": [message.role for message in session.messages],
        "time": session.started_at,
    }
    return Subject(session.session_id, fields, dict(session.model_extra or {}))


def store_rows(
    collection: str,
    prepared: Sequence[PreparedSession],
    standings: Mapping[str, Standing],
    ports: MessagePorts,
) -> tuple[Mapping[str, Outcome], Mapping[str, ChangedTexts]]:
    """Store the rows of sessions, and return their outcomes and the texts whose words are to be changed with them.

    A session is not stored if a newer one is, if it was forgotten since, or if the same content is there already.
    """
    stored = ports.sessions.revisions(collection, [each.session.session_id for each in prepared])
    outcomes = {each.session.session_id: outcome_of(each, standings, stored) for each in prepared}
    new = [each for each in prepared if outcomes[each.session.session_id] == "ingested"]
    if not new:
        return outcomes, {}
    return outcomes, ports.sessions.put(collection, new)


def outcome_of(prepared: PreparedSession, standings: Mapping[str, Standing], stored: Mapping[str, Revision]) -> Outcome:
    """Decide what becomes of a session, given how its write stands and the revisions that are stored."""
    session_id = prepared.session.session_id
    if standings[session_id].forgotten:
        return "forgotten"
    if not standings[session_id].newest:
        return "superseded"
    return "unchanged" if stored.get(session_id) == prepared.revision else "ingested"


def change_words(
    collection: str, changed: Mapping[str, ChangedTexts], prepared: Sequence[PreparedSession], ports: MessagePorts
) -> None:
    """Bring the text indexes to the changed texts of sessions."""
    drop_words(collection, [text for texts in changed.values() for text in texts.dropped], ports)
    units: dict[VectorType, list[WordUnit]] = {}
    for session_id, texts in changed.items():
        for vector_type, group in group_by_type(texts.added):
            units.setdefault(vector_type, []).extend(word_units_of(session_id, group))
    for vector_type in sorted(units):
        for start in range(0, len(units[vector_type]), INDEX_BATCH):
            ports.words.put(collection, SPACES[vector_type], units[vector_type][start : start + INDEX_BATCH])
    entries = [
        entry
        for each in prepared
        if each.session.session_id in changed
        for entry in changed_entries(each, changed[each.session.session_id])
    ]
    for start in range(0, len(entries), INDEX_BATCH):
        ports.words.put(collection, NEIGHBOURS, entries[start : start + INDEX_BATCH])


def changed_entries(prepared: PreparedSession, texts: ChangedTexts) -> list[WordUnit]:
    """Return the entries with neighbours that a change of a session's texts has changed.

    All are, if a message was dropped, or if only its speakers or other metadata changed.
    """
    session_id, messages = prepared.session.session_id, prepared.messages
    added = {text.text_id for text in texts.added if text.vector_type == "message"}
    dropped = {text.text_id for text in texts.dropped if text.vector_type == "message"}
    changed = changed_around(session_id, messages, added) if added and dropped <= added else None
    return entries_of(session_id, messages, words, changed=changed)


def prepare_session(session: ChatSession) -> PreparedSession:
    """Give each message its key, its time and the session's metadata, and list the session's passages."""
    numbered = [
        Message(
            message_key(message.message_id, place),
            message.message_id,
            message.text,
            session.started_at if message.created_at is None else message.created_at,
            message.role,
            {**(session.model_extra or {}), **(message.model_extra or {})},
        )
        for place, message in enumerate(session.messages)
    ]
    shaped = f"{CONTEXT_VERSION}\n{session.model_dump_json()}"
    revision = Revision(hashlib.sha256(shaped.encode()).hexdigest())
    return PreparedSession(session, numbered, passages_of(session.session_id, numbered), revision)


def drop_words(collection: str, texts: Sequence[MessageText], ports: DropPorts) -> None:
    """Drop texts from the text index."""
    for vector_type, group in group_by_type(texts):
        ids = [text.text_id for text in group]
        ports.words.drop(collection, SPACES[vector_type], ids)
        if vector_type == "message":
            ports.words.drop(collection, NEIGHBOURS, ids)


def word_units_of(session_id: str, texts: Sequence[MessageText]) -> list[WordUnit]:
    """Turn texts into entries of the text index, grouped by session."""
    return [WordUnit(text.text_id, text.content, session_id) for text in texts]


def group_by_type(texts: Sequence[MessageText]) -> list[tuple[VectorType, list[MessageText]]]:
    """Group texts by type, as each type has an index of its own."""
    ordered = sorted(texts, key=lambda text: text.vector_type)
    return [(vector_type, list(group)) for vector_type, group in groupby(ordered, lambda text: text.vector_type)]


def to_result(request: IngestSession, picture: Picture, notes: IngestNotes) -> IngestSessionResult:
    """Build the result from the notes."""
    return IngestSessionResult(
        job_id=picture.record.job_id,
        session_id=request.session.session_id,
        outcome=notes.outcome,
        total=notes.total,
        embedding_job=notes.embedding_job,
        complete=True,
    )


ENDING: Final = Ending(IngestNotes, to_result)
