"""Load many sessions in one job: each as if it came alone, but many of them in one change."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from querymill_shared.board import Claim
from querymill_shared.contracts.conversations.grow import GrowConversations
from querymill_shared.contracts.conversations.load import LoadConversations, LoadConversationsResult
from querymill_shared.contracts.loading import LoadedDocument
from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.documents.late_writes import bury_replaced
from querymill_workers.jobs.bell import Bell, one_per_queue
from querymill_workers.jobs.loading import Loading, LoadNotes, ending_of, load_slices
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.ledger.ports import Standing, Version, version_of
from querymill_workers.retrievers.conversations.embed import EMBEDDABLE
from querymill_workers.retrievers.conversations.history import History, put_whole, session_of
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.sessions import KIND, Replacement, StoredConversation
from querymill_workers.retrievers.conversations.rules.embedded_passages import EMBEDDED_CHARS
from querymill_workers.retrievers.conversations.write.derived import prepare_history, revision_of
from querymill_workers.retrievers.conversations.write.follow_up import update_soon, update_what_waits
from querymill_workers.retrievers.conversations.write.ingest import acceptance_of, subject_of, too_late
from querymill_workers.retrievers.conversations.write.store_sessions import Change, change_of, is_new, replace_all
from querymill_workers.vectors.embedding import submit_embedding


def step(claim: Claim, request: LoadConversations, ports: ConversationPorts) -> Sequence[Bell]:
    """Load sessions, and ask for an update of the ranks and for the vectors of their passages."""
    collection, version = request.collection, version_of(claim)

    def store(sessions: Sequence[ChatSession]) -> list[LoadedDocument]:
        changes = store_sessions(collection, sessions, version, ports)
        return [
            LoadedDocument.model_validate(
                {"document": session.session_id, "outcome": change.outcome, "total": change.total}
            )
            for session, change in zip(sessions, changes, strict=True)
        ]

    loaded = load_slices(claim, request.sessions, Loading(id_of, chars_of, store), ports)
    if loaded is None:
        return []
    passages = {session.session_id: passages_about(session) for session in request.sessions}
    return hand_in_loaded(claim, request, loaded, passages, ENDING, ports)


def hand_in_loaded(
    claim: Claim,
    request: LoadConversations | GrowConversations,
    loaded: Sequence[LoadedDocument],
    passages: Mapping[str, int],
    ending: Ending[Any, LoadNotes],
    ports: ConversationPorts,
    *,
    settle_s: float = 0.0,
) -> Sequence[Bell]:
    """Ask for an update of the ranks and for the vectors, of about so many ``passages`` a session. End the job.

    The vectors are made after ``settle_s`` seconds.
    """
    collection = request.collection
    ports.board.add_collections(KIND, [collection])
    changed = any(document.outcome == "ingested" for document in loaded)
    bells = update_soon(collection, ports) if changed else update_what_waits(collection, ports)
    jobs, rung = submit_embedding(
        EMBEDDABLE, collection, passages, ports, lane=request.lane, token=claim.job_id, settle_s=settle_s
    )
    hand_in(claim, request, LoadNotes(documents=tuple(loaded), embedding_jobs=tuple(jobs)), ending, ports)
    return [*bells, *one_per_queue(rung)]


def store_sessions(
    collection: str, sessions: Sequence[ChatSession], version: Version, ports: ConversationPorts
) -> list[Change]:
    """Store whole sessions and their index entries in one change, as far as this version is to stand."""
    subjects = [subject_of(session) for session in sessions]
    with ports.ledger.changing(collection, KIND, subjects, version) as standings:
        bury_replaced(collection, KIND, standings, ports)
        known = ports.conversations.stored_all(collection, [session.session_id for session in sessions])
        planned = [
            plan(session, standings[session.session_id], known.get(session.session_id), ports) for session in sessions
        ]
        replace_all(collection, [replacement for _, replacement in planned if replacement is not None], ports)
    return [change for change, _ in planned]


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


def id_of(session: ChatSession) -> str:
    """Return a session's id."""
    return session.session_id


def chars_of(session: ChatSession) -> int:
    """Return the length of a session's texts."""
    return sum(len(message.text) for message in session.messages)


def passages_about(session: ChatSession) -> int:
    """Return about how many passages a session has."""
    return chars_of(session) // EMBEDDED_CHARS + 1


ENDING: Final = ending_of(LoadConversationsResult)
