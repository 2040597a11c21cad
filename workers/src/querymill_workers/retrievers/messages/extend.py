"""Add the new messages of sessions: what is stored is read here, and does not cross the wire again.

Only the new messages, and those whose neighbours they are, get new vectors.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pydantic

from querymill_shared.board import Claim
from querymill_shared.contracts.ingest import Extend, ExtendResult, IngestedDocument, SessionExtension
from querymill_shared.contracts.sessions import ChatMessage, ChatSession
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import Mistaken
from querymill_workers.jobs.ingesting import ending_of, ingest_slices
from querymill_workers.retrievers.messages.ingest import (
    change_words,
    hand_in_sessions,
    prepare_session,
    store_rows,
)
from querymill_workers.retrievers.messages.ports import KIND, MessagePorts
from querymill_workers.versions.ports import Standing, Version, WrittenDocument, version_of


def step(claim: Claim, request: Extend, ports: MessagePorts) -> Sequence[Bell]:
    """Extend sessions, and submit the embedding of those that lack a vector."""
    collection, version = request.collection, version_of(claim)

    def store(extensions: Sequence[SessionExtension]) -> list[IngestedDocument]:
        return extend_sessions(collection, extensions, version, ports)

    ingested = ingest_slices(claim, request.documents, store, ports)
    return [] if ingested is None else hand_in_sessions(claim, request, ingested, ENDING, ports)


def extend_sessions(
    collection: str, extensions: Sequence[SessionExtension], version: Version, ports: MessagePorts
) -> list[IngestedDocument]:
    """Store sessions with their new messages in one change."""
    ids = [extension.session_id for extension in extensions]
    with ports.versions.changing(
        collection, KIND, [WrittenDocument(id_) for id_ in ids], version, whole=False
    ) as standings:
        stored = ports.sessions.whole(collection, ids)
        extended = {
            extension.session_id: session
            for extension in extensions
            if stands(standings[extension.session_id])
            and (session := extended_session(stored.get(extension.session_id), extension)) is not None
        }
        prepared = {id_: prepare_session(session) for id_, session in extended.items()}
        outcomes, changed = store_rows(collection, list(prepared.values()), standings, ports)
        change_words(collection, changed, list(prepared.values()), ports)
    ports.sessions.grow(collection, sum(len(texts.added) for texts in changed.values()))
    return [
        IngestedDocument(document=id_, outcome=outcomes[id_], total=len(prepared[id_].passages))
        if id_ in outcomes
        else IngestedDocument(document=id_, outcome="forgotten" if standings[id_].forgotten else "superseded")
        for id_ in ids
    ]


def stands(standing: Standing) -> bool:
    """Return whether an extension counts. What a filter has forgotten since, only the whole session shows."""
    return standing.newest and not standing.filters


def extended_session(stored: Mapping[str, Any] | None, extension: SessionExtension) -> ChatSession | None:
    """Return a session with its new messages, or None if another number of messages is stored.

    ``a b`` extended by ``c`` after 2 is ``a b c``. To ``a b c`` and ``a b c d`` that was added before, and they stay.

    Raises:
        Mistaken: The session breaks a rule with them.
    """
    if stored is None:
        return None
    try:
        before = ChatSession.model_validate(stored)
        stored_there = before.messages[extension.after :][: len(extension.messages)]
        if stored_there == extension.messages:
            return before
        if len(before.messages) != extension.after:
            return None
        return ChatSession.model_validate(
            {**stored, "messages": [*stored["messages"], *map(_as_given, extension.messages)]}
        )
    except pydantic.ValidationError as error:
        raise Mistaken(
            f"messages: session {extension.session_id!r} cannot be extended: {error.errors()[0]['msg']}"
        ) from error


def _as_given(message: ChatMessage) -> dict[str, Any]:
    return message.model_dump(mode="json")


ENDING: Final = ending_of(ExtendResult)
