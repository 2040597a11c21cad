"""Ingest whole sessions: each as if it came alone, but many of them in one change.

Only one writer at a time changes a session: it reads the history of the session, adds its write in the order of
acceptance, and writes the index entry and the rows before the next writer reads. Entry, rows and version are committed
together, so a search that sees the new generation finds all of it, and a killed worker leaves nothing. Ranks are
updated and vectors are made in the background.
"""

from collections.abc import Sequence
from typing import Any, Final

from querymill_shared.board import Claim
from querymill_shared.contracts.conversations.ingest import IngestConversations, IngestConversationsResult
from querymill_shared.contracts.ingest import Extend, IngestedDocument, IngestOutcome
from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.documents.late_writes import drop_barred
from querymill_workers.jobs.bell import Bell, one_per_queue
from querymill_workers.jobs.ingesting import IngestNotes, ending_of, ingest_slices
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.retrievers.conversations.embed import EMBEDDABLE
from querymill_workers.retrievers.conversations.entry import entry_of
from querymill_workers.retrievers.conversations.history import Acceptance, History, put_whole, session_of
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.sessions import (
    KIND,
    Replacement,
    StoredConversation,
)
from querymill_workers.retrievers.conversations.rules.embedded_passages import EMBEDDED_CHARS
from querymill_workers.retrievers.conversations.write.derived import prepare_history, revision_of
from querymill_workers.retrievers.conversations.write.follow_up import update_soon, update_what_waits
from querymill_workers.retrievers.conversations.write.store_sessions import Change, change_of, is_new, replace_all
from querymill_workers.vectors.embedding import submit_embedding
from querymill_workers.versions.ports import Standing, Version, version_of


def step(claim: Claim, request: IngestConversations, ports: ConversationPorts) -> Sequence[Bell]:
    """Ingest sessions, and ask for an update of the ranks and for the vectors of their passages.

    The same content again changes nothing.
    """
    collection, version = request.collection, version_of(claim)

    def store(sessions: Sequence[ChatSession]) -> list[IngestedDocument]:
        return store_sessions(collection, sessions, version, ports)

    ingested = ingest_slices(claim, request.documents, store, ports)
    return [] if ingested is None else hand_in_sessions(claim, request, ingested, ENDING, ports)


def hand_in_sessions(
    claim: Claim,
    request: IngestConversations | Extend,
    ingested: Sequence[IngestedDocument],
    ending: Ending[Any, IngestNotes],
    ports: ConversationPorts,
    *,
    settle_s: float = 0.0,
) -> Sequence[Bell]:
    """Announce the collection, ask for an update of its ranks and, after ``settle_s`` seconds, for missing vectors.

    All this even if nothing changed: an earlier attempt may have been killed right after it stored the sessions.
    """
    collection = request.collection
    ports.board.add_collections(KIND, [collection])
    changed = any(document.outcome == "ingested" for document in ingested)
    bells = update_soon(collection, ports) if changed else update_what_waits(collection, ports)
    passages = {document.document_id: document.chars // EMBEDDED_CHARS + 1 for document in request.documents}
    jobs, rung = submit_embedding(
        EMBEDDABLE, collection, passages, ports, lane=request.lane, token=claim.job_id, settle_s=settle_s
    )
    hand_in(claim, request, IngestNotes(documents=tuple(ingested), embedding_jobs=tuple(jobs)), ending, ports)
    return [*bells, *one_per_queue(rung)]


def store_sessions(
    collection: str, sessions: Sequence[ChatSession], version: Version, ports: ConversationPorts
) -> list[IngestedDocument]:
    """Store whole sessions and their index entries in one change, as far as this version is to stand."""
    subjects = [entry_of(session) for session in sessions]
    with ports.versions.changing(collection, KIND, subjects, version) as standings:
        drop_barred(collection, KIND, standings, ports)
        known = ports.conversations.stored_all(collection, [session.session_id for session in sessions])
        planned = [
            plan(session, standings[session.session_id], known.get(session.session_id), ports) for session in sessions
        ]
        replace_all(collection, [replacement for _, replacement in planned if replacement is not None], ports)
    return [ended(session.session_id, change) for session, (change, _) in zip(sessions, planned, strict=True)]


def ended(session_id: str, change: Change) -> IngestedDocument:
    """Return what became of a session."""
    return IngestedDocument(document=session_id, outcome=change.outcome, total=change.total)


def plan(
    session: ChatSession, standing: Standing, known: StoredConversation | None, ports: ConversationPorts
) -> tuple[Change, Replacement | None]:
    """Say what becomes of a session, and what is to be stored if anything is."""
    if not standing.newest:
        return Change(too_late(standing), len(known.session.messages) if known else 0), None
    history = put_whole(known.history if known else History(), session, acceptance_of(standing.version))
    if known is not None and is_stored(known, history, session.session_id):
        return Change("unchanged", len(session.messages)), None
    prepared = prepare_history(session.session_id, history, ports.technical_keywords)
    if prepared is None or not is_new(known, history, prepared):
        return Change("unchanged", len(session.messages)), None
    return change_of(known, prepared), Replacement(prepared, None if known is None else known.revision)


def is_stored(known: StoredConversation, history: History, session_id: str) -> bool:
    """Return whether a session is stored as its history has it. It costs a hash, and no look at the texts."""
    if history != known.history:
        return False
    session = session_of(session_id, history)
    return session is not None and revision_of(session) == known.revision


def acceptance_of(version: Version) -> Acceptance:
    """Return a version as the rules order by it."""
    return version.accepted_us, version.job_id


def too_late(standing: Standing) -> IngestOutcome:
    """Say why a write counts no longer: the session was forgotten since, or replaced as a whole."""
    return "forgotten" if standing.forgotten else "superseded"


ENDING: Final = ending_of(IngestConversationsResult)
