"""The life of chat sessions in this process: for unit tests, and to read what the store does without SQL."""

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
from querymill_workers.retrievers.messages.ports import SessionDraft
from querymill_workers.retrievers.messages.rules.sessions import MessagePassage, PendingPassage

_Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage of one session and model, as far as it has come."""

    session_id: str
    model: str
    passage: MessagePassage
    embedding: npt.NDArray[np.float32] | None = None
    indexed: bool = False


@dataclass(slots=True)
class StoredSession:
    """A session as it was put; ``revision`` is None until its words are there too."""

    draft: SessionDraft
    revision: Revision | None = None
    waiting: str | None = None


class MemorySessions:
    """`Sessions` without a server; ``rows`` are by vector id and model, in each collection."""

    kind: Final = "messages"

    def __init__(self) -> None:
        self.sessions: dict[_Place, StoredSession] = {}
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

    def leaving(self, collection: str, session_id: str, *, keeping: Sequence[str]) -> Sequence[PendingPassage]:
        """See `Sessions.leaving`."""
        gone = {one.passage.vector_id: one for one in self._of(collection, session_id)}
        return [PendingPassage(id_, one.passage.vector_type, "") for id_, one in gone.items() if id_ not in keeping]

    def put(self, collection: str, draft: SessionDraft, *, models: Sequence[str]) -> None:
        """See `Sessions.put`."""
        session_id = draft.session.session_id
        contents = {passage.vector_id: passage.content for passage in draft.passages}
        with self.lock:
            before = self.sessions.get((collection, session_id))
            waiting = None if before is None else before.waiting
            self.sessions[collection, session_id] = StoredSession(draft, None, waiting)
            for one in self._of(collection, session_id):
                if contents.get(one.passage.vector_id) != one.passage.content:
                    del self.rows[collection][one.passage.vector_id, one.model]
            indexed = {one.passage.vector_id for one in self._of(collection, session_id) if one.indexed}
            for passage in draft.passages:
                for model in models:
                    new = StoredPassage(session_id, model, passage, indexed=passage.vector_id in indexed)
                    known = self.rows[collection].get((passage.vector_id, model), new)
                    self.rows[collection][passage.vector_id, model] = replace(known, passage=passage)

    def passages(self, collection: str, session_id: str) -> Sequence[PendingPassage]:
        """See `Sessions.passages`."""
        return list({one.passage.vector_id: _pending(one) for one in self._of(collection, session_id)}.values())

    def unindexed(self, collection: str, session_id: str) -> Sequence[PendingPassage]:
        """See `Sessions.unindexed`."""
        stored = [one for one in self._of(collection, session_id) if not one.indexed]
        return list({one.passage.vector_id: _pending(one) for one in stored}.values())

    def mark_indexed(self, collection: str, passages: Sequence[PendingPassage]) -> None:
        """See `Sessions.mark_indexed`."""
        done = {(passage.vector_id, passage.content) for passage in passages}
        with self.lock:
            for place, one in self.rows[collection].items():
                if (one.passage.vector_id, one.passage.content) in done:
                    self.rows[collection][place] = replace(one, indexed=True)

    def complete(self, collection: str, session_id: str, revision: Revision) -> None:
        """See `Sessions.complete`."""
        known = self.sessions[collection, session_id]
        if known.draft.revision == revision:
            known.revision = revision

    def forget(self, collection: str, session_id: str) -> bool:
        """See `Sessions.forget`."""
        with self.lock:
            for one in self._of(collection, session_id):
                del self.rows[collection][one.passage.vector_id, one.model]
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
        lacking = [one for one in self._of(collection, session_id) if one.model == model and one.embedding is None]
        lacking.sort(key=lambda one: (one.passage.created_at, one.passage.vector_id))
        lacking.sort(key=lambda one: one.passage.vector_type, reverse=True)
        return [_pending(one) for one in lacking]

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
            sessions = {one.session_id for (id_, _), one in self.rows[collection].items() if id_ in lacking}
        return sorted(one for one in sessions if zlib.crc32(one.encode()) % parts == part)

    def prepare(self, collection: str, session_id: str, *, model: str) -> None:
        """See `Sessions.prepare`."""
        with self.lock:
            for one in self._of(collection, session_id):
                new = replace(one, model=model, embedding=None)
                self.rows[collection].setdefault((one.passage.vector_id, model), new)

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
            return {id_ for (id_, of), one in rows if of == model and one.embedding is not None}

    def _of(self, collection: str, session_id: str) -> list[StoredPassage]:
        with self.lock:
            return [one for one in self.rows[collection].values() if one.session_id == session_id]


def _pending(stored: StoredPassage) -> PendingPassage:
    return PendingPassage(stored.passage.vector_id, stored.passage.vector_type, stored.passage.content)
