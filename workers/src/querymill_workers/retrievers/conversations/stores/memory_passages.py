"""Passages of conversations, in the memory of this process."""

import sys
import threading
from collections.abc import Mapping, Sequence

from typing_extensions import override

from querymill_workers.retrievers.conversations.ports.passages import (
    CutSession,
    NearSession,
    NearSessions,
    PassageFilter,
    Passages,
)
from querymill_workers.retrievers.conversations.rules.embedded_passages import EmbeddedPassage
from querymill_workers.text.similarity import cosine
from querymill_workers.vectors.memory import MemoryVectors
from querymill_workers.vectors.ports import Passage, Vector


class MemoryPassages(Passages):
    """`Passages` without a server. ``vectors`` are those of the passages."""

    def __init__(self) -> None:
        self._sessions: dict[str, dict[str, CutSession]] = {}
        self._lock = threading.RLock()
        self.vectors = MemoryVectors("conversations", self._embedded)

    @override
    def put(self, collection: str, cut: Sequence[CutSession]) -> None:
        with self._lock:
            self._sessions.setdefault(collection, {}).update({session.session_id: session for session in cut})
            self.vectors.drop_orphans(collection)

    @override
    def lasts(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, EmbeddedPassage]:
        with self._lock:
            return {cut.session_id: cut.passages[-1] for cut in self._of(collection, session_ids) if cut.passages}

    @override
    def grow(self, collection: str, cut: Sequence[CutSession]) -> None:
        with self._lock:
            for grown in cut:
                stored = self._sessions[collection][grown.session_id].passages
                first = min((passage.number for passage in grown.passages), default=len(stored))
                kept = [passage for passage in stored if passage.number < first]
                self.put(collection, [CutSession(grown.session_id, [*kept, *grown.passages])])

    @override
    def drop(self, collection: str, session_id: str) -> None:
        with self._lock:
            self._sessions.get(collection, {}).pop(session_id, None)
            self.vectors.drop_orphans(collection)

    @override
    def nearest(self, collection: str, vector: Vector, *, model: str, limit: int, where: PassageFilter) -> NearSessions:
        found, pending = list[NearSession](), 0
        with self._lock:
            vectors = self.vectors.vectors(collection, model=model)
            waiting = {each[:2] for each in self.vectors.pending(collection, model=model, limit=sys.maxsize)}
            for session in self._of(collection, where.sessions):
                passing = [passage for passage in session.passages if _passes(passage, where)]
                known = [(passage, vectors.get((session.session_id, passage.key))) for passage in passing]
                near = [(cosine(each, vector), passage) for passage, each in known if each is not None]
                pending += sum((session.session_id, passage.key) in waiting for passage in passing)
                if near:
                    best, passage = min(near, key=lambda one: (-one[0], one[1].key))
                    found.append(NearSession(session.session_id, best, passage))
        found.sort(key=lambda near: (-near.cosine, near.session_id))
        return NearSessions(found[:limit], pending)

    def _embedded(self, collection: str) -> list[Passage]:
        with self._lock:
            return [
                Passage(session.session_id, passage.key, passage.text)
                for session in self._of(collection, None)
                for passage in session.passages
            ]

    def _of(self, collection: str, session_ids: Sequence[str] | None) -> list[CutSession]:
        sessions = self._sessions.get(collection, {})
        chosen = sessions if session_ids is None else set(session_ids) & sessions.keys()
        return [sessions[session_id] for session_id in sorted(chosen)]


def _passes(passage: EmbeddedPassage, where: PassageFilter) -> bool:
    return (where.start is None or passage.last_at >= where.start) and (
        where.end is None or passage.first_at < where.end
    )
