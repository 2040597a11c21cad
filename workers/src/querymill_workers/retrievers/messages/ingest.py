"""Ingest sessions: their messages become searchable by text at once, and jobs that follow make their vectors.

Rows, words and the versions of sessions change in one transaction. A passage whose content has not changed keeps its
vector.
"""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from querymill_shared.board import Claim
from querymill_shared.contracts.ingest import Extend, IngestedDocument, IngestOutcome
from querymill_shared.contracts.messages.ingest import IngestMessages, IngestMessagesResult
from querymill_shared.contracts.sessions import ChatSession, message_key
from querymill_workers.documents.late_writes import drop_barred
from querymill_workers.jobs.bell import Bell, one_per_queue
from querymill_workers.jobs.ingesting import IngestNotes, ending_of, ingest_slices
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.messages.embed import EMBEDDABLE
from querymill_workers.retrievers.messages.entry import entry_of
from querymill_workers.retrievers.messages.ports import (
    KIND,
    NEIGHBOURS,
    SPACES,
    ChangedTexts,
    DroppedSession,
    DropPorts,
    MessagePorts,
    PreparedSession,
)
from querymill_workers.retrievers.messages.rules.neighbours import changed_around, entries_of
from querymill_workers.retrievers.messages.rules.sessions import (
    CONTEXT_VERSION,
    MessageText,
    SessionMessage,
    VectorType,
    passages_of,
)
from querymill_workers.text.words import words
from querymill_workers.vectors.embedding import submit_embedding
from querymill_workers.versions.ports import Standing, Version, version_of
from querymill_workers.words.ports import WordUnit

#: Texts that are indexed in one call.
INDEX_BATCH: Final = 500


def step(claim: Claim, request: IngestMessages, ports: MessagePorts) -> Sequence[Bell]:
    """Ingest sessions, and submit the embedding of those that lack a vector. Unchanged content is not stored again."""
    collection, version = request.collection, version_of(claim)

    def store(sessions: Sequence[ChatSession]) -> list[IngestedDocument]:
        return store_sessions(collection, sessions, version, ports)

    ingested = ingest_slices(claim, request.documents, store, ports)
    if ingested is None:
        return []
    ports.board.add_collections("messages", [collection])
    return hand_in_sessions(claim, request, ingested, ENDING, ports)


def hand_in_sessions(
    claim: Claim,
    request: IngestMessages | Extend,
    ingested: Sequence[IngestedDocument],
    ending: Ending[Any, IngestNotes],
    ports: MessagePorts,
) -> Sequence[Bell]:
    """Submit the embedding of the stored sessions that lack a vector, and end the job."""
    passages = {
        document.document: document.total for document in ingested if document.outcome in ("ingested", "unchanged")
    }
    jobs, bells = submit_embedding(
        EMBEDDABLE, request.collection, passages, ports, lane=request.lane, token=claim.job_id
    )  # fmt: skip
    hand_in(claim, request, IngestNotes(documents=tuple(ingested), embedding_jobs=tuple(jobs)), ending, ports)
    return one_per_queue(bells)


def store_sessions(
    collection: str, sessions: Sequence[ChatSession], version: Version, ports: MessagePorts
) -> list[IngestedDocument]:
    """Store sessions and their words in one change, as far as this version is to stand."""
    prepared = [prepare_session(session) for session in sessions]
    with ports.versions.changing(collection, KIND, [entry_of(session) for session in sessions], version) as standings:
        drop_barred(collection, KIND, standings, ports)
        outcomes, changed = store_rows(collection, prepared, standings, ports)
        change_words(collection, changed, prepared, ports)
    ports.sessions.grow(collection, sum(len(texts.added) for texts in changed.values()))
    return [
        IngestedDocument(document=id_, outcome=outcomes[id_], total=len(each.passages))
        for each in prepared
        for id_ in [each.session.session_id]
    ]


def store_rows(
    collection: str,
    prepared: Sequence[PreparedSession],
    standings: Mapping[str, Standing],
    ports: MessagePorts,
) -> tuple[Mapping[str, IngestOutcome], Mapping[str, ChangedTexts]]:
    """Store the rows of sessions, and return their outcomes and the texts whose words are to be changed with them.

    A session is not stored if a newer one is, if it was forgotten since, or if the same content is there already.
    """
    stored = ports.documents[KIND].revisions(collection, [each.session.session_id for each in prepared])
    outcomes = {each.session.session_id: outcome_of(each, standings, stored) for each in prepared}
    new = [each for each in prepared if outcomes[each.session.session_id] == "ingested"]
    if not new:
        return outcomes, {}
    changed = ports.sessions.put(collection, new)
    ports.documents[KIND].put(collection, [(entry_of(each.session), each.revision) for each in new])
    return outcomes, changed


def outcome_of(
    prepared: PreparedSession, standings: Mapping[str, Standing], stored: Mapping[str, Revision]
) -> IngestOutcome:
    """Decide what becomes of a session, given how its write stands and the revisions that are stored."""
    session_id = prepared.session.session_id
    standing = standings[session_id]
    if standing.forgotten:
        return "forgotten"
    if not standing.newest:
        return "superseded"
    # An earlier attempt of this job has stored it: what is different since was added to it, and stays.
    is_stored = standing.known == standing.version
    return "unchanged" if is_stored or stored.get(session_id) == prepared.revision else "ingested"


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
        SessionMessage(
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


def drop_session(collection: str, session_id: str, ports: DropPorts) -> DroppedSession:
    """Drop all that is stored of a session, within a change of `versions`."""
    dropped = ports.sessions.drop(collection, session_id)
    drop_words(collection, dropped.texts, ports)
    ports.documents[KIND].drop(collection, [session_id])
    ports.vectors[KIND].begin_embedding(collection, [session_id])
    return dropped


def word_units_of(session_id: str, texts: Sequence[MessageText]) -> list[WordUnit]:
    """Turn texts into entries of the text index, grouped by session."""
    return [WordUnit(text.text_id, text.content, session_id) for text in texts]


def group_by_type(texts: Sequence[MessageText]) -> list[tuple[VectorType, list[MessageText]]]:
    """Group texts by type, as each type has an index of its own."""
    ordered = sorted(texts, key=lambda text: text.vector_type)
    return [(vector_type, list(group)) for vector_type, group in groupby(ordered, lambda text: text.vector_type)]


ENDING: Final = ending_of(IngestMessagesResult)
