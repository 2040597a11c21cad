"""Chat sessions in memory: for unit tests, and to show without SQL what a store does."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from typing_extensions import override

from querymill_shared.contracts.described import line_of
from querymill_workers.retrievers.messages.ports import ChangedTexts, DroppedSession, PreparedSession, Sessions
from querymill_workers.retrievers.messages.rules.sessions import MessagePassage, MessageText, texts_of
from querymill_workers.vectors.memory import MemoryVectors
from querymill_workers.vectors.ports import Passage


class MemorySessions(Sessions):
    """`Sessions` in memory. ``vectors`` are those of their passages."""

    def __init__(self) -> None:
        self.sessions: dict[tuple[str, str], PreparedSession] = {}
        self.lock = threading.RLock()
        self.vectors = MemoryVectors("messages", self._embedded)

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
    def drop(self, collection: str, session_id: str) -> DroppedSession:
        with self.lock:
            texts, known = self.texts(collection, session_id), self.sessions.pop((collection, session_id), None)
            self.vectors.drop_orphans(collection)
        return DroppedSession(known is not None, 0 if known is None else len(known.passages), texts)

    @override
    def whole(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        stored = {id_: self.sessions.get((collection, id_)) for id_ in session_ids}
        return {id_: line_of(known.session) for id_, known in stored.items() if known is not None}

    def _embedded(self, collection: str) -> list[Passage]:
        return [
            Passage(prepared.session.session_id, passage.key, passage.content)
            for prepared, passage in self.passages(collection)
        ]
