"""Load many sessions in one job: each as if it came alone, but many of them in one change."""

from collections.abc import Sequence
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.loading import LoadedDocument
from querymill_shared.contracts.messages.load import LoadSessions, LoadSessionsResult
from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.documents.late_writes import bury_replaced
from querymill_workers.jobs.bell import Bell, one_per_queue
from querymill_workers.jobs.loading import Loading, LoadNotes, ending_of, load_slices
from querymill_workers.jobs.one_step import hand_in
from querymill_workers.ledger.ports import Version, version_of
from querymill_workers.retrievers.messages.embed import EMBEDDABLE
from querymill_workers.retrievers.messages.ingest import (
    KIND,
    change_words,
    prepare_session,
    store_rows,
    subject_of,
)
from querymill_workers.retrievers.messages.ports import MessagePorts
from querymill_workers.vectors.embedding import submit_embedding


def step(claim: Claim, request: LoadSessions, ports: MessagePorts) -> Sequence[Bell]:
    """Load sessions, and submit the embedding of those that lack a vector."""
    collection, version = request.collection, version_of(claim)

    def store(sessions: Sequence[ChatSession]) -> list[LoadedDocument]:
        return store_sessions(collection, sessions, version, ports)

    loaded = load_slices(claim, request.sessions, Loading(id_of, chars_of, store), ports)
    if loaded is None:
        return []
    ports.board.add_collections("messages", [collection])
    ports.sessions.grow(collection, sum(document.total for document in loaded if document.outcome == "ingested"))
    passages = {
        document.document: document.total for document in loaded if document.outcome in ("ingested", "unchanged")
    }
    jobs, bells = submit_embedding(EMBEDDABLE, collection, passages, ports, lane=request.lane, token=claim.job_id)
    hand_in(claim, request, LoadNotes(documents=tuple(loaded), embedding_jobs=tuple(jobs)), ENDING, ports)
    return one_per_queue(bells)


def store_sessions(
    collection: str,
    sessions: Sequence[ChatSession],
    version: Version,
    ports: MessagePorts,
) -> list[LoadedDocument]:
    """Store sessions and their words in one change, as far as this version is to stand."""
    prepared = [prepare_session(session) for session in sessions]
    with ports.ledger.changing(collection, KIND, [subject_of(session) for session in sessions], version) as standings:
        bury_replaced(collection, KIND, standings, ports)
        outcomes, changed = store_rows(collection, prepared, standings, ports)
        change_words(collection, changed, prepared, ports)
    return [
        LoadedDocument(document=id_, outcome=outcomes[id_], total=len(each.passages))
        for each in prepared
        for id_ in [each.session.session_id]
    ]


def id_of(session: ChatSession) -> str:
    """Return a session's id."""
    return session.session_id


def chars_of(session: ChatSession) -> int:
    """Return the length of a session's texts."""
    return sum(len(message.text) for message in session.messages)


ENDING: Final = ending_of(LoadSessionsResult)
