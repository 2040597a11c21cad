"""Add the new messages of sessions that have grown: what is stored is read here, and does not cross the wire again.

Only the new messages, and those whose neighbours they are, get new vectors.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pydantic

from querymill_shared.board import Claim
from querymill_shared.contracts.loading import LoadedDocument
from querymill_shared.contracts.messages.grow import GrowSessions, GrowSessionsResult, SessionGrowth
from querymill_shared.contracts.sessions import ChatMessage, ChatSession
from querymill_workers.jobs.bell import Bell, one_per_queue
from querymill_workers.jobs.faults import Mistaken
from querymill_workers.jobs.loading import Loading, LoadNotes, ending_of, load_slices
from querymill_workers.jobs.one_step import hand_in
from querymill_workers.ledger.ports import Standing, Subject, Version, version_of
from querymill_workers.retrievers.messages.embed import EMBEDDABLE
from querymill_workers.retrievers.messages.ingest import KIND, change_words, prepare_session, store_rows
from querymill_workers.retrievers.messages.ports import MessagePorts
from querymill_workers.vectors.embedding import submit_embedding


def step(claim: Claim, request: GrowSessions, ports: MessagePorts) -> Sequence[Bell]:
    """Grow sessions, and submit the embedding of those that lack a vector."""
    collection, version = request.collection, version_of(claim)

    def store(growths: Sequence[SessionGrowth]) -> list[LoadedDocument]:
        return grow_sessions(collection, growths, version, ports)

    loaded = load_slices(claim, request.growths, Loading(id_of, chars_of, store), ports)
    if loaded is None:
        return []
    ports.sessions.grow(collection, sum(2 * len(growth.messages) for growth in request.growths))
    passages = {
        document.document: document.total for document in loaded if document.outcome in ("ingested", "unchanged")
    }
    jobs, bells = submit_embedding(EMBEDDABLE, collection, passages, ports, lane=request.lane, token=claim.job_id)
    hand_in(claim, request, LoadNotes(documents=tuple(loaded), embedding_jobs=tuple(jobs)), ENDING, ports)
    return one_per_queue(bells)


def grow_sessions(
    collection: str,
    growths: Sequence[SessionGrowth],
    version: Version,
    ports: MessagePorts,
) -> list[LoadedDocument]:
    """Store sessions with their new messages in one change."""
    ids = [growth.session_id for growth in growths]
    with ports.ledger.changing(collection, KIND, [Subject(id_) for id_ in ids], version, whole=False) as standings:
        stored = ports.sessions.whole(collection, ids)
        grown = {
            growth.session_id: session
            for growth in growths
            if stands(standings[growth.session_id])
            and (session := grown_session(stored.get(growth.session_id), growth)) is not None
        }
        prepared = {id_: prepare_session(session) for id_, session in grown.items()}
        outcomes, changed = store_rows(collection, list(prepared.values()), standings, ports)
        change_words(collection, changed, list(prepared.values()), ports)
    return [
        LoadedDocument(document=id_, outcome=outcomes[id_], total=len(prepared[id_].passages))
        if id_ in outcomes
        else LoadedDocument(document=id_, outcome="forgotten" if standings[id_].forgotten else "superseded")
        for id_ in ids
    ]


def stands(standing: Standing) -> bool:
    """Return whether a growth counts. If something was forgotten by a filter since, only the whole session shows it."""
    return standing.newest and not standing.filters


def grown_session(stored: Mapping[str, Any] | None, growth: SessionGrowth) -> ChatSession | None:
    """Return a session with its new messages, or None if another number of messages is stored.

    ``a b`` grown by ``c`` after 2 is ``a b c``, and so is ``a b c``, to which that was added before.

    Raises:
        Mistaken: The session breaks a rule with them.
    """
    if stored is None:
        return None
    try:
        before = ChatSession.model_validate(stored)
        if before.messages[growth.after :] == growth.messages:
            return before
        if len(before.messages) != growth.after:
            return None
        return ChatSession.model_validate(
            {**stored, "messages": [*stored["messages"], *map(_as_given, growth.messages)]}
        )
    except pydantic.ValidationError as error:
        raise Mistaken(f"messages: session {growth.session_id!r} cannot grow: {error.errors()[0]['msg']}") from error


def _as_given(message: ChatMessage) -> dict[str, Any]:
    return message.model_dump(mode="json")


def id_of(growth: SessionGrowth) -> str:
    """Return a session's id."""
    return growth.session_id


def chars_of(growth: SessionGrowth) -> int:
    """Return the length of the new texts."""
    return sum(len(message.text) for message in growth.messages)


ENDING: Final = ending_of(GrowSessionsResult)
