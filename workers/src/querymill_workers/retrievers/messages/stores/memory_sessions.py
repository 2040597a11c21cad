"""Chat sessions in memory: for unit tests, and to show without SQL what a store does."""

import threading
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.described import line_of
from querymill_shared.contracts.documents import DocumentCard
from querymill_shared.contracts.filters import Filterable, passes
from querymill_shared.contracts.sessions import ChatSession
from querymill_shared.values import frozen
from querymill_workers.inference.ports import Vectors
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.messages.ports import ChangedTexts, DroppedSession, PreparedSession
from querymill_workers.retrievers.messages.rules.sessions import (
    MessagePassage,
    MessageText,
    PendingPassage,
    texts_of,
)

_Place = tuple[str, str]


@frozen
class StoredPassage:
    """A passage of one session and model. ``embedding`` is None until its vector is stored."""

    session_id: str
    model: str
    passage: MessagePassage
    embedding: npt.NDArray[np.float32] | None = None
    set_aside: bool = False


@dataclass(slots=True)
class MemorySession:
    """A session as it was put."""

    prepared: PreparedSession
    waiting: str | None = None


class MemorySessions:
    """`Sessions` in memory. ``rows`` maps each collection to its rows by vector id and model."""

    kind: Final = "messages"

    def __init__(self) -> None:
        self.sessions: dict[_Place, MemorySession] = {}
        self.rows: dict[str, dict[_Place, StoredPassage]] = defaultdict(dict)
        self.lock = threading.RLock()
        self._models: dict[str, str] = {}

    def revisions(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Revision]:
        """See `Sessions.revisions`."""
        stored = {id_: self.sessions.get((collection, id_)) for id_ in session_ids}
        return {id_: known.prepared.revision for id_, known in stored.items() if known is not None}

    def ids(self, collection: str) -> Sequence[str]:
        """See `Sessions.ids`."""
        return sorted(session_id for name, session_id in self.sessions if name == collection)

    def put(
        self, collection: str, prepared: Sequence[PreparedSession], *, models: Sequence[str]
    ) -> Mapping[str, ChangedTexts]:
        """See `Sessions.put`."""
        with self.lock:
            return {each.session.session_id: self._put(collection, each, models) for each in prepared}

    def _put(self, collection: str, prepared: PreparedSession, models: Sequence[str]) -> ChangedTexts:
        session_id = prepared.session.session_id
        texts = {text.text_id: text for text in texts_of(prepared.passages)}
        with self.lock:
            before = self.sessions.get((collection, session_id))
            known = {text.text_id: text for text in self.texts(collection, session_id)}
            dropped = [text for text_id, text in known.items() if texts.get(text_id) != text]
            gone = {text.text_id for text in dropped}
            for row in self._of(collection, session_id):
                if row.passage.text_id in gone:
                    del self.rows[collection][row.passage.vector_id, row.model]
            self.sessions[collection, session_id] = MemorySession(prepared, None if before is None else before.waiting)
            for passage in prepared.passages:
                for model in models:
                    new = StoredPassage(session_id, model, passage)
                    stored = self.rows[collection].get((passage.vector_id, model), new)
                    self.rows[collection][passage.vector_id, model] = replace(stored, passage=passage, set_aside=False)
        return ChangedTexts([text for text_id, text in texts.items() if known.get(text_id) != text], dropped)

    def grow(self, collection: str, passages: int) -> None:
        """See `Sessions.grow`. Nothing here depends on size."""

    def texts(self, collection: str, session_id: str) -> Sequence[MessageText]:
        """See `Sessions.texts`."""
        rows = sorted(self._of(collection, session_id), key=lambda row: row.passage.number)
        return texts_of(list({row.passage.vector_id: row.passage for row in rows}.values()))

    def whole_text(self, collection: str, stored: StoredPassage) -> str:
        """Return the whole text that a passage is of."""
        if stored.passage.passages == 1:
            return stored.passage.content
        with self.lock:
            parts = {
                row.passage.number: row.passage.content
                for row in self._of(collection, stored.session_id)
                if row.passage.text_id == stored.passage.text_id
            }
        return "".join(parts[number] for number in sorted(parts))

    def forget(self, collection: str, session_id: str) -> DroppedSession:
        """See `Sessions.forget`."""
        with self.lock:
            texts, rows = self.texts(collection, session_id), self._of(collection, session_id)
            for row in rows:
                del self.rows[collection][row.passage.vector_id, row.model]
            was_there = self.sessions.pop((collection, session_id), None) is not None
        return DroppedSession(was_there, len({row.passage.vector_id for row in rows}), texts)

    def await_embedding(
        self, collection: str, tokens: Mapping[str, str], *, models: Sequence[str]
    ) -> Mapping[str, str]:
        """See `Sessions.await_embedding`."""
        waiting = {}
        with self.lock:
            for session_id, token in tokens.items():
                if any(self.count_pending(collection, [session_id], model=model) for model in models):
                    known = self.sessions[collection, session_id]
                    waiting[session_id] = known.waiting = known.waiting or token
        return waiting

    def begin_embedding(self, collection: str, session_ids: Sequence[str]) -> None:
        """See `Sessions.begin_embedding`."""
        with self.lock:
            for session_id in session_ids:
                if (known := self.sessions.get((collection, session_id))) is not None:
                    known.waiting = None

    def pending(
        self, collection: str, session_ids: Sequence[str], *, model: str, limit: int
    ) -> Sequence[PendingPassage]:
        """See `Sessions.pending`."""
        waiting = [row for session_id in session_ids for row in self._waiting(collection, session_id, model)]
        waiting.sort(key=lambda row: (row.passage.created_at, row.passage.vector_id))
        waiting.sort(key=lambda row: row.passage.vector_type, reverse=True)
        return [_pending(row) for row in waiting[:limit]]

    def count_pending(self, collection: str, session_ids: Sequence[str], *, model: str) -> int:
        """See `Sessions.count_pending`."""
        return sum(len(self._waiting(collection, session_id, model)) for session_id in session_ids)

    def fill(self, collection: str, passages: Sequence[PendingPassage], vectors: Vectors, *, model: str) -> None:
        """See `Sessions.fill`."""
        with self.lock:
            for passage, vector in zip(passages, vectors, strict=True):
                known = self.rows[collection].get((passage.vector_id, model))
                if known is not None and known.passage.content == passage.content:
                    self.rows[collection][passage.vector_id, model] = replace(known, embedding=vector)

    def refuse(self, collection: str, passages: Sequence[PendingPassage], *, model: str) -> Sequence[str]:
        """See `Sessions.refuse`."""
        still_there = []
        with self.lock:
            for passage in passages:
                known = self.rows[collection].get((passage.vector_id, model))
                if known is not None and known.passage.content == passage.content and known.embedding is None:
                    self.rows[collection][passage.vector_id, model] = replace(known, set_aside=True)
                    still_there.append(passage.vector_id)
        return still_there

    def searched_by(self, collection: str, *, first: str | None = None) -> str | None:
        """See `Sessions.searched_by`."""
        with self.lock:
            if first is not None:
                self._models.setdefault(collection, first)
            return self._models.get(collection)

    def lacking(self, collection: str, *, model: str, part: int, parts: int) -> Sequence[str]:
        """See `Sessions.lacking`."""
        lacking = self._every(collection) - self._embedded(collection, model)
        with self.lock:
            sessions = {row.session_id for (id_, _), row in self.rows[collection].items() if id_ in lacking}
        return sorted(id_ for id_ in sessions if zlib.crc32(id_.encode()) % parts == part)

    def add_model(self, collection: str, session_id: str, *, model: str) -> None:
        """See `Sessions.add_model`."""
        with self.lock:
            for row in self._of(collection, session_id):
                new = StoredPassage(session_id, model, row.passage)
                known = self.rows[collection].get((row.passage.vector_id, model), new)
                self.rows[collection][row.passage.vector_id, model] = replace(known, set_aside=False)

    def switch(self, collection: str, *, model: str) -> bool:
        """See `Sessions.switch`."""
        with self.lock:
            before = self._models.get(collection)
            missing = (
                set() if before is None else self._embedded(collection, before) - self._embedded(collection, model)
            )
            refused = {id_ for (id_, of), row in self.rows[collection].items() if of == model and row.set_aside}
            if before is None or missing - refused:
                return False
            self._models[collection] = model
            return True

    def drop_other_models(self, collection: str, *, model: str) -> None:
        """See `Sessions.drop_other_models`."""
        with self.lock:
            for id_, of in list(self.rows[collection]):
                if of != model and (id_, model) in self.rows[collection]:
                    del self.rows[collection][id_, of]

    def collections(self) -> Sequence[str]:
        """See `Sessions.collections`."""
        return sorted(self._models)

    def listed(
        self, collection: str, conditions: Mapping[str, Any], *, limit: int, after: str | None
    ) -> Sequence[DocumentCard]:
        """See `Sessions.listed`."""
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
                pending=len({row.passage.vector_id for row in self._of(collection, session.session_id)
                             if row.embedding is None and not row.set_aside}),
            )
            for session in stored[:limit]
        ]  # fmt: skip

    def count(self, collection: str, conditions: Mapping[str, Any]) -> int:
        """See `Sessions.count`."""
        return len(self._passing(collection, conditions))

    def whole(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """See `Sessions.whole`."""
        stored = {id_: self.sessions.get((collection, id_)) for id_ in session_ids}
        return {id_: line_of(known.prepared.session) for id_, known in stored.items() if known is not None}

    def leave(self, collection: str) -> str | None:
        """See `Sessions.leave`."""
        with self.lock:
            return None if self.ids(collection) else self._models.pop(collection, None)

    def _passing(self, collection: str, conditions: Mapping[str, Any]) -> list[ChatSession]:
        stored = [self.sessions[collection, id_].prepared.session for id_ in self.ids(collection)]
        return [session for session in stored if passes(conditions, filterable_of(session))]

    def _every(self, collection: str) -> set[str]:
        with self.lock:
            return {id_ for id_, _ in self.rows[collection]}

    def _embedded(self, collection: str, model: str) -> set[str]:
        with self.lock:
            rows = self.rows[collection].items()
            return {id_ for (id_, of), row in rows if of == model and row.embedding is not None}

    def _waiting(self, collection: str, session_id: str, model: str) -> list[StoredPassage]:
        rows = self._of(collection, session_id)
        return [row for row in rows if row.model == model and row.embedding is None and not row.set_aside]

    def _of(self, collection: str, session_id: str) -> list[StoredPassage]:
        with self.lock:
            return [row for row in self.rows[collection].values() if row.session_id == session_id]


def filterable_of(session: ChatSession) -> Filterable:
    """Return what a filter sees of a session."""
    return Filterable.of(
        session.model_extra,
        user_name=session.user_name,
        role=[message.role for message in session.messages],
        session_id=session.session_id,
        time=session.started_at,
    )


def _pending(stored: StoredPassage) -> PendingPassage:
    passage = stored.passage
    return PendingPassage(passage.vector_id, passage.vector_type, passage.content, stored.session_id)
