"""Chat sessions in memory: for unit tests, and to show without SQL what a store does."""

import threading
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from querymill_workers.inference.ports import Vectors
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.messages.ports import PreparedSession
from querymill_workers.retrievers.messages.rules.sessions import MessagePassage, PendingPassage

_Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage of one session and model. ``embedding`` is None until its vector is stored."""

    session_id: str
    model: str
    passage: MessagePassage
    embedding: npt.NDArray[np.float32] | None = None
    indexed: bool = False


@dataclass(slots=True)
class MemorySession:
    """A session as it was put. ``revision`` is None until all its passages are indexed."""

    prepared: PreparedSession
    revision: Revision | None = None
    waiting: str | None = None


class MemorySessions:
    """`Sessions` in memory. ``rows`` maps each collection to its rows by vector id and model."""

    kind: Final = "messages"

    def __init__(self) -> None:
        self.sessions: dict[_Place, MemorySession] = {}
        self.rows: dict[str, dict[_Place, StoredPassage]] = defaultdict(dict)
        self.lock = threading.RLock()
        self._models: dict[str, str] = {}
        self._changing: dict[_Place, threading.Lock] = defaultdict(threading.Lock)

    @contextmanager
    def changing(self, collection: str, session_id: str) -> Iterator[None]:
        """See `Sessions.changing`."""
        with self.lock:
            alone = self._changing[collection, session_id]
        with alone:
            yield

    def revision(self, collection: str, session_id: str) -> Revision | None:
        """See `Sessions.revision`."""
        known = self.sessions.get((collection, session_id))
        return None if known is None else known.revision

    def ids(self, collection: str) -> Sequence[str]:
        """See `Sessions.ids`."""
        return sorted(session_id for name, session_id in self.sessions if name == collection)

    def passages_except(self, collection: str, session_id: str, *, keeping: Sequence[str]) -> Sequence[PendingPassage]:
        """See `Sessions.passages_except`."""
        stored = {row.passage.vector_id: row for row in self._of(collection, session_id)}
        return [PendingPassage(id_, row.passage.vector_type, "") for id_, row in stored.items() if id_ not in keeping]

    def put(self, collection: str, prepared: PreparedSession, *, models: Sequence[str]) -> None:
        """See `Sessions.put`."""
        session_id = prepared.session.session_id
        contents = {passage.vector_id: passage.content for passage in prepared.passages}
        with self.lock:
            before = self.sessions.get((collection, session_id))
            waiting = None if before is None else before.waiting
            self.sessions[collection, session_id] = MemorySession(prepared, None, waiting)
            for row in self._of(collection, session_id):
                if contents.get(row.passage.vector_id) != row.passage.content:
                    del self.rows[collection][row.passage.vector_id, row.model]
            indexed = {row.passage.vector_id for row in self._of(collection, session_id) if row.indexed}
            for passage in prepared.passages:
                for model in models:
                    new = StoredPassage(session_id, model, passage, indexed=passage.vector_id in indexed)
                    known = self.rows[collection].get((passage.vector_id, model), new)
                    self.rows[collection][passage.vector_id, model] = replace(known, passage=passage)

    def passages(self, collection: str, session_id: str) -> Sequence[PendingPassage]:
        """See `Sessions.passages`."""
        return list({row.passage.vector_id: _pending(row) for row in self._of(collection, session_id)}.values())

    def unindexed(self, collection: str, session_id: str) -> Sequence[PendingPassage]:
        """See `Sessions.unindexed`."""
        stored = [row for row in self._of(collection, session_id) if not row.indexed]
        return list({row.passage.vector_id: _pending(row) for row in stored}.values())

    def mark_indexed(self, collection: str, passages: Sequence[PendingPassage]) -> None:
        """See `Sessions.mark_indexed`."""
        done = {(passage.vector_id, passage.content) for passage in passages}
        with self.lock:
            for place, row in self.rows[collection].items():
                if (row.passage.vector_id, row.passage.content) in done:
                    self.rows[collection][place] = replace(row, indexed=True)

    def complete(self, collection: str, session_id: str, revision: Revision) -> None:
        """See `Sessions.complete`."""
        known = self.sessions[collection, session_id]
        if known.prepared.revision == revision:
            known.revision = revision

    def forget(self, collection: str, session_id: str) -> bool:
        """See `Sessions.forget`."""
        with self.lock:
            for row in self._of(collection, session_id):
                del self.rows[collection][row.passage.vector_id, row.model]
            return self.sessions.pop((collection, session_id), None) is not None

    def await_embedding(self, collection: str, session_id: str, *, models: Sequence[str], token: str) -> str | None:
        """See `Sessions.await_embedding`."""
        with self.lock:
            if not any(self.pending(collection, session_id, model=model) for model in models):
                return None
            known = self.sessions[collection, session_id]
            known.waiting = known.waiting or token
            return known.waiting

    def begin_embedding(self, collection: str, session_id: str) -> None:
        """See `Sessions.begin_embedding`."""
        with self.lock:
            if (known := self.sessions.get((collection, session_id))) is not None:
                known.waiting = None

    def pending(self, collection: str, session_id: str, *, model: str) -> Sequence[PendingPassage]:
        """See `Sessions.pending`."""
        lacking = [row for row in self._of(collection, session_id) if row.model == model and row.embedding is None]
        lacking.sort(key=lambda row: (row.passage.created_at, row.passage.vector_id))
        lacking.sort(key=lambda row: row.passage.vector_type, reverse=True)
        return [_pending(row) for row in lacking]

    def fill(self, collection: str, passages: Sequence[PendingPassage], vectors: Vectors, *, model: str) -> None:
        """See `Sessions.fill`."""
        with self.lock:
            for passage, vector in zip(passages, vectors, strict=True):
                known = self.rows[collection].get((passage.vector_id, model))
                if known is not None and known.passage.content == passage.content:
                    self.rows[collection][passage.vector_id, model] = replace(known, embedding=vector)

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
                new = replace(row, model=model, embedding=None)
                self.rows[collection].setdefault((row.passage.vector_id, model), new)

    def switch(self, collection: str, *, model: str) -> bool:
        """See `Sessions.switch`."""
        with self.lock:
            before = self._models.get(collection)
            if before is None or self._embedded(collection, before) - self._embedded(collection, model):
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

    def _every(self, collection: str) -> set[str]:
        with self.lock:
            return {id_ for id_, _ in self.rows[collection]}

    def _embedded(self, collection: str, model: str) -> set[str]:
        with self.lock:
            rows = self.rows[collection].items()
            return {id_ for (id_, of), row in rows if of == model and row.embedding is not None}

    def _of(self, collection: str, session_id: str) -> list[StoredPassage]:
        with self.lock:
            return [row for row in self.rows[collection].values() if row.session_id == session_id]


def _pending(stored: StoredPassage) -> PendingPassage:
    return PendingPassage(stored.passage.vector_id, stored.passage.vector_type, stored.passage.content)
