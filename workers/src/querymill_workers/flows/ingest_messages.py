"""Taking a session in: its messages are found by their words at once, then by their vectors as these come.

Killed anywhere, the next attempt goes on where this one was: a stored passage keeps its vector as long as its
content does not change, and the provider is asked only for what is pending.
"""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import groupby

from querymill_shared.board import Claim
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.messages import IngestSession, IngestSessionResult
from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.domain.sessions import (
    CONTEXT_VERSION,
    Message,
    PendingPassage,
    VectorType,
    message_key,
    passages,
)
from querymill_workers.flows import one_step
from querymill_workers.flows.one_step import Notes
from querymill_workers.ports import Bell, Caller, Ports, Revision, SessionDraft, Usage, WordUnit

#: Texts per embedding call: small enough that a question waits little behind one on a shared server.
BATCH = 16
#: Passages whose words are put in one transaction.
WORDS_BATCH = 500
#: Where the words of messages are, and where those of messages amid their neighbours.
SPACES: Mapping[VectorType, str] = {"message": "messages", "context": "message_contexts"}


def step(claim: Claim, request: IngestSession, ports: Ports) -> Sequence[Bell]:
    """Ingest one session; the same content with the same model changes nothing."""
    collection, session_id, model = request.collection, request.session.session_id, ports.embeddings.model
    draft = drafted(request.session, model)
    total = len(draft.passages)
    if ports.messages.revision(collection, session_id) == draft.revision:
        return one_step.hand_in(claim, {"outcome": "unchanged", "total": total, "embedded": 0}, to_result, ports)
    take_words(collection, ports.messages.leaving(collection, draft), ports)
    ports.messages.put(collection, draft, model=model)
    put_words(collection, session_id, ports)
    ports.board.add_collections("messages", [collection])
    pending = ports.messages.pending(collection, session_id, model=model)
    usage = Usage()
    for start in range(0, len(pending), BATCH):
        batch = pending[start : start + BATCH]
        vectors, spent = ports.embeddings.embed(
            [passage.content for passage in batch],
            input_type="passage",
            caller=Caller(collection, request.lane),
        )
        ports.messages.fill(collection, batch, vectors, model=model)
        usage += spent
        done = total - len(pending) + start + len(batch)
        if not ports.board.tell(claim.job_id, Progress(stage=claim.step, done=done, total=total)):
            return []  # cancelled; what is stored waits for the next attempt
    ports.messages.complete(collection, session_id, draft.revision, model=model)
    notes = {
        "outcome": "ingested",
        "total": total,
        "embedded": len(pending),
        "usage": {"provider_calls": usage.calls, "tokens": usage.tokens},
    }
    return one_step.hand_in(claim, notes, to_result, ports)


def drafted(session: ChatSession, model: str) -> SessionDraft:
    """Number a session's messages, and list what is found of them."""
    numbered = [
        Message(
            message_key(message.message_id, place),
            message.message_id,
            message.text,
            session.started_at if message.created_at is None else message.created_at,
        )
        for place, message in enumerate(session.messages)
    ]
    shaped = f"{CONTEXT_VERSION}\n{model}\n{session.model_dump_json()}"
    revision = Revision(hashlib.sha256(shaped.encode()).hexdigest())
    return SessionDraft(session, numbered, passages(session.session_id, numbered), revision)


def take_words(collection: str, leaving: Sequence[PendingPassage], ports: Ports) -> None:
    """Take the words of passages away; before the rows go, so that a kill leaves no words without a row."""
    for vector_type, some in by_type(leaving):
        ports.words.drop(collection, SPACES[vector_type], [passage.vector_id for passage in some])


def put_words(collection: str, session_id: str, ports: Ports) -> None:
    """Make passages found by their words."""
    model = ports.embeddings.model
    for vector_type, some in by_type(ports.messages.unindexed(collection, session_id, model=model)):
        for start in range(0, len(some), WORDS_BATCH):
            batch = some[start : start + WORDS_BATCH]
            units = [WordUnit(passage.vector_id, passage.content, session_id) for passage in batch]
            ports.words.put(collection, SPACES[vector_type], units)
            ports.messages.mark_indexed(collection, batch, model=model)


def by_type(some: Sequence[PendingPassage]) -> list[tuple[VectorType, list[PendingPassage]]]:
    """Group passages by what they are."""
    ordered = sorted(some, key=lambda passage: passage.vector_type)
    return [(vector_type, list(group)) for vector_type, group in groupby(ordered, lambda one: one.vector_type)]


def to_result(request: IngestSession, job_id: str, notes: Notes) -> IngestSessionResult:
    """Say what ingestion did."""
    return IngestSessionResult(job_id=job_id, session_id=request.session.session_id, complete=True, **notes)
