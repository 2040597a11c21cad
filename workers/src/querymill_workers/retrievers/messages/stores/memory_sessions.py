"""Chat sessions in memory: for unit tests, and to show without SQL what a store does."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from typing_extensions import override

from querymill_shared.contracts.described import line_of
from querymill_shared.contracts.documents import DocumentCard
from querymill_shared.contracts.filters import Filterable, passes
from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.messages.ports import ChangedTexts, DroppedSession, PreparedSession, Sessions
from querymill_workers.retrievers.messages.rules.sessions import MessagePassage, MessageText, texts_of
from querymill_workers.vectors.memory import MemoryVectors
from querymill_workers.vectors.ports import Passage


class MemorySessions(Sessions):
    """`Sessions` in memory. ``vectors`` are those of their passages."""

    kind: Final = "messages"

    def __init__(self) -> None:
        self.sessions: dict[tuple[str, str], PreparedSession] = {}
        self.lock = threading.RLock()
        self.vectors = MemoryVectors("messages", self._embedded)

    @override
    def revisions(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Revision]:
        stored = {id_: self.sessions.get((collection, id_)) for id_ in session_ids}
        return {id_: known.revision for id_, known in stored.items() if known is not None}

    @override
    def ids(self, collection: str) -> Sequence[str]:
        return sorted(session_id for name, session_id in self.sessions if name == collection)

    @override
    def put(self, collection: str, prepared: Sequence[PreparedSession]) -> Mapping[str, ChangedTexts]:
        with self.lock:
            changed = {each.session.session_id: self._put(collection, each) for each in prepared}
            self.vectors.drop_orphans(collection)
        return changed

    def _put(self, collection: str, prepared: PreparedSession) -> ChangedTexts:
        session_id = prepared.session.session_id
        known = {text.text_id: text for text in self.texts(collection, session_id)}
        texts = {text.text_id: text for text in texts_of(prepared.passages)}
        self.sessions[collection, session_id] = prepared
        return ChangedTexts(
            [text for text_id, text in texts.items() if known.get(text_id) != text],
            [text for text_id, text in known.items() if texts.get(text_id) != text],
        )

    def grow(self, collection: str, passages: int) -> None:
        """See `Sessions.grow`. Nothing here depends on size."""

    @override
    def texts(self, collection: str, session_id: str) -> Sequence[MessageText]:
        known = self.sessions.get((collection, session_id))
        return [] if known is None else texts_of(known.passages)

    def passages(self, collection: str) -> Iterator[tuple[PreparedSession, MessagePassage]]:
        """Yield all passages, each with its session."""
        with self.lock:
            for (name, _), prepared in list(self.sessions.items()):
                if name == collection:
                    yield from ((prepared, passage) for passage in prepared.passages)

    @override
    def forget(self, collection: str, session_id: str) -> DroppedSession:
        with self.lock:
            texts, known = self.texts(collection, session_id), self.sessions.pop((collection, session_id), None)
            self.vectors.drop_orphans(collection)
        return DroppedSession(known is not None, 0 if known is None else len(known.passages), texts)

    @override
    def collections(self) -> Sequence[str]:
        return sorted({collection for collection, _ in self.sessions})

    @override
    def listed(
        self, collection: str, conditions: Mapping[str, Any], *, limit: int, after: str | None
    ) -> Sequence[DocumentCard]:
        stored = [
            session for session in self._passing(collection, conditions) if after is None or session.session_id > after
        ]
        return [
            DocumentCard(
                id=session.session_id,
                title=session.name,
                when=session.started_at,
                size=len(session.messages),
                unit="messages",
                metadata=session.model_extra or {},
            )
            for session in stored[:limit]
        ]

    @override
    def count(self, collection: str, conditions: Mapping[str, Any]) -> int:
        return len(self._passing(collection, conditions))

    @override
    def whole(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        stored = {id_: self.sessions.get((collection, id_)) for id_ in session_ids}
        return {id_: line_of(known.session) for id_, known in stored.items() if known is not None}

    def _passing(self, collection: str, conditions: Mapping[str, Any]) -> list[ChatSession]:
        stored = [self.sessions[collection, id_].session for id_ in self.ids(collection)]
        return [session for session in stored if passes(conditions, filterable_of(session))]

    def _embedded(self, collection: str) -> list[Passage]:
        return [
            Passage(prepared.session.session_id, passage.key, passage.content)
            for prepared, passage in self.passages(collection)
        ]


def filterable_of(session: ChatSession) -> Filterable:
    """Return what a filter sees of a session."""
    return Filterable.of(
        session.model_extra,
        user_name=session.user_name,
        role=[message.role for message in session.messages],
        session_id=session.session_id,
        time=session.started_at,
    )
