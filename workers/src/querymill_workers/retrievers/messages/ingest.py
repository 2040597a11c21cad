"""Ingest a session: its messages become searchable by text at once, and a job that follows makes their vectors.

Rows and words are two stores, so a lock lets one worker at a time change a session. If a worker dies, the next attempt
ingests the session again; a passage whose content has not changed keeps its vector.
"""

import hashlib
from collections.abc import Sequence
from itertools import groupby
from typing import Final, Literal

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.messages.ingest import IngestSession, IngestSessionResult
from querymill_shared.contracts.sessions import ChatSession, message_key
from querymill_workers.inference.ports import Embeddings
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.messages.embed import models_to_embed_with, submit_embedding
from querymill_workers.retrievers.messages.ports import SPACES, MessagePorts, PreparedSession
from querymill_workers.retrievers.messages.rules.sessions import (
    CONTEXT_VERSION,
    Message,
    PendingPassage,
    VectorType,
    passages_of,
)
from querymill_workers.words.ports import WordUnit

#: Passages that are indexed in one transaction.
INDEX_BATCH: Final = 500


class IngestNotes(Notes):
    """What ingestion did, and the id of the job that makes the missing vectors."""

    outcome: Literal["ingested", "unchanged"]
    total: int
    embedding_job: str | None = None


def step(claim: Claim, request: IngestSession, ports: MessagePorts) -> Sequence[Bell]:
    """Ingest one session, and submit an embedding job if vectors are missing. Unchanged content is not stored again."""
    collection, session_id = request.collection, request.session.session_id
    prepared = prepare_session(request.session)
    models = models_to_embed_with(collection, ports)
    with ports.sessions.changing(collection, session_id):
        unchanged = ports.sessions.revision(collection, session_id) == prepared.revision
        if not unchanged:
            store_session(collection, prepared, models, ports)
    ports.board.add_collections("messages", [collection])
    embedding_job, bells = submit_embedding(
        collection, session_id, models, ports, lane=request.lane, token=claim.job_id
    )
    notes = IngestNotes(
        outcome="unchanged" if unchanged else "ingested", total=len(prepared.passages), embedding_job=embedding_job
    )
    hand_in(claim, request, notes, ENDING, ports)
    return bells


def store_session(
    collection: str, prepared: PreparedSession, models: Sequence[Embeddings], ports: MessagePorts
) -> None:
    """Replace the stored session and its index entries."""
    session_id = prepared.session.session_id
    keeping = [passage.vector_id for passage in prepared.passages]
    unindex_passages(collection, ports.sessions.passages_except(collection, session_id, keeping=keeping), ports)
    ports.sessions.put(collection, prepared, models=[model.model for model in models])
    index_passages(collection, session_id, ports)
    ports.sessions.complete(collection, session_id, prepared.revision)


def prepare_session(session: ChatSession) -> PreparedSession:
    """Give each message its key and its time, and list the session's passages."""
    numbered = [
        Message(
            message_key(message.message_id, place),
            message.message_id,
            message.text,
            session.started_at if message.created_at is None else message.created_at,
        )
        for place, message in enumerate(session.messages)
    ]
    shaped = f"{CONTEXT_VERSION}\n{session.model_dump_json()}"
    revision = Revision(hashlib.sha256(shaped.encode()).hexdigest())
    return PreparedSession(session, numbered, passages_of(session.session_id, numbered), revision)


def unindex_passages(collection: str, passages: Sequence[PendingPassage], ports: MessagePorts) -> None:
    """Drop passages from the text index. Their rows are dropped afterwards, so that every index entry has a row."""
    for vector_type, group in group_by_type(passages):
        ports.words.drop(collection, SPACES[vector_type], [passage.vector_id for passage in group])


def index_passages(collection: str, session_id: str, ports: MessagePorts) -> None:
    """Add the session's passages that are missing from the text index."""
    for vector_type, group in group_by_type(ports.sessions.unindexed(collection, session_id)):
        for start in range(0, len(group), INDEX_BATCH):
            batch = group[start : start + INDEX_BATCH]
            ports.words.put(collection, SPACES[vector_type], word_units_of(session_id, batch))
            ports.sessions.mark_indexed(collection, batch)


def word_units_of(session_id: str, passages: Sequence[PendingPassage]) -> list[WordUnit]:
    """Turn passages into entries of the text index, grouped by session."""
    return [WordUnit(passage.vector_id, passage.content, session_id) for passage in passages]


def group_by_type(passages: Sequence[PendingPassage]) -> list[tuple[VectorType, list[PendingPassage]]]:
    """Group passages by type, as each type has an index of its own."""
    ordered = sorted(passages, key=lambda passage: passage.vector_type)
    return [(vector_type, list(group)) for vector_type, group in groupby(ordered, lambda passage: passage.vector_type)]


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
