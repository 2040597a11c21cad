"""Passages of conversations and their vectors, in the memory of this process."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.conversations.ports.passages import (
    CutSession,
    NearSession,
    NearSessions,
    PassageCounts,
    PassageFilter,
    PendingPassage,
    Vector,
)
from querymill_workers.retrievers.conversations.rules.embedded_passages import EmbeddedPassage
from querymill_workers.text.similarity import cosine


@dataclass(slots=True)
class _Stored:
    """The passages of one session; a vector that is None was refused."""

    cut: CutSession
    vectors: dict[tuple[str, str], Vector | None] = field(default_factory=dict)
    waiting: str | None = None

    def pending(self, model: str) -> list[EmbeddedPassage]:
        return [passage for passage in self.cut.passages if (passage.key, model) not in self.vectors]

    def replace(self, cut: CutSession, *, retry: bool) -> None:
        """Keep the vectors of passages that stay."""
        keys = {passage.key for passage in cut.passages}
        self.cut = cut
        self.vectors = {
            place: vector
            for place, vector in self.vectors.items()
            if place[0] in keys and not (retry and vector is None)
        }


class MemoryPassages:
    """`Passages` without a server."""

    def __init__(self) -> None:
        self._sessions: dict[str, dict[str, _Stored]] = {}
        self._models: dict[str, str] = {}
        self._lock = threading.RLock()

    def put(self, collection: str, cut: Sequence[CutSession]) -> None:
        """See `Passages.put`."""
        with self._lock:
            sessions = self._sessions.setdefault(collection, {})
            for session in cut:
                sessions.setdefault(session.session_id, _Stored(session)).replace(session, retry=True)

    def lasts(self, collection: str, revisions: Mapping[str, Revision]) -> Mapping[str, EmbeddedPassage]:
        """See `Passages.lasts`."""
        with self._lock:
            held = {id_: stored.cut for id_, stored in self._sessions.get(collection, {}).items() if id_ in revisions}
            return {
                id_: cut.passages[-1] for id_, cut in held.items() if cut.passages and cut.revision == revisions[id_]
            }

    def grow(self, collection: str, cut: Sequence[CutSession]) -> None:
        """See `Passages.grow`."""
        with self._lock:
            for grown in cut:
                stored = self._sessions[collection][grown.session_id]
                first = min((passage.number for passage in grown.passages), default=len(stored.cut.passages))
                kept = [passage for passage in stored.cut.passages if passage.number < first]
                stored.replace(CutSession(grown.session_id, grown.revision, [*kept, *grown.passages]), retry=False)

    def drop(self, collection: str, session_id: str) -> None:
        """See `Passages.drop`."""
        with self._lock:
            self._sessions.get(collection, {}).pop(session_id, None)

    def uncut(self, collection: str, *, limit: int) -> Sequence[str]:  # noqa: ARG002  # no other release writes here
        """See `Passages.uncut`."""
        return []

    def leave(self, collection: str) -> None:
        """See `Passages.leave`."""
        with self._lock:
            if not self._sessions.get(collection):
                self._models.pop(collection, None)

    def await_embedding(
        self, collection: str, tokens: Mapping[str, str], *, models: Sequence[str]
    ) -> Mapping[str, str]:
        """See `Passages.await_embedding`."""
        waiting = {}
        with self._lock:
            for stored in self._of(collection, list(tokens)):
                session_id = stored.cut.session_id
                if any(stored.pending(model) for model in models):
                    waiting[session_id] = stored.waiting = stored.waiting or tokens[session_id]
        return waiting

    def begin_embedding(self, collection: str, session_ids: Sequence[str]) -> None:
        """See `Passages.begin_embedding`."""
        with self._lock:
            for stored in self._of(collection, session_ids):
                stored.waiting = None

    def pending(
        self, collection: str, *, model: str, limit: int, session_ids: Sequence[str] | None = None
    ) -> Sequence[PendingPassage]:
        """See `Passages.pending`."""
        return self._pending(collection, model, session_ids)[:limit]

    def still_pending(
        self, collection: str, passages: Sequence[PendingPassage], *, model: str
    ) -> Sequence[PendingPassage]:
        """See `Passages.still_pending`."""
        left = set(self._pending(collection, model, [passage.session_id for passage in passages]))
        return [passage for passage in passages if passage in left]

    def counts(self, collection: str, *, model: str, session_ids: Sequence[str] | None = None) -> PassageCounts:
        """See `Passages.counts`."""
        with self._lock:
            passages = sum(len(stored.cut.passages) for stored in self._of(collection, session_ids))
            return PassageCounts(passages, len(self._pending(collection, model, session_ids)))

    def lacking(
        self, collection: str, *, model: str, session_ids: Sequence[str] | None = None, unawaited: bool = False
    ) -> Mapping[str, int]:
        """See `Passages.lacking`."""
        with self._lock:
            counted = {
                stored.cut.session_id: len(stored.pending(model))
                for stored in self._of(collection, session_ids)
                if not (unawaited and stored.waiting is not None)
            }
        return {session_id: count for session_id, count in counted.items() if count}

    def fill(
        self, collection: str, passages: Sequence[PendingPassage], vectors: Sequence[Vector | None], *, model: str
    ) -> None:
        """See `Passages.fill`."""
        with self._lock:
            for passage, vector in zip(passages, vectors, strict=True):
                stored = self._sessions.get(collection, {}).get(passage.session_id)
                if stored is not None and passage.key in {each.key for each in stored.cut.passages}:
                    stored.vectors[passage.key, model] = vector

    def retry(self, collection: str, *, model: str) -> None:
        """See `Passages.retry`."""
        with self._lock:
            for stored in self._of(collection, None):
                kept = stored.vectors.items()
                stored.vectors = {place: found for place, found in kept if found is not None or place[1] != model}

    def nearest(self, collection: str, vector: Vector, *, model: str, limit: int, where: PassageFilter) -> NearSessions:
        """See `Passages.nearest`."""
        found, pending = list[NearSession](), 0
        with self._lock:
            for stored in self._of(collection, where.sessions):
                passing = [passage for passage in stored.cut.passages if _passes(passage, where)]
                known = [(passage, stored.vectors.get((passage.key, model))) for passage in passing]
                near = [(cosine(each, vector), passage) for passage, each in known if each is not None]
                pending += sum((passage.key, model) not in stored.vectors for passage in passing)
                if near:
                    best, passage = min(near, key=lambda one: (-one[0], one[1].key))
                    found.append(NearSession(stored.cut.session_id, best, passage))
        found.sort(key=lambda near: (-near.cosine, near.session_id))
        return NearSessions(found[:limit], pending)

    def searched_by(self, collection: str, *, first: str | None = None) -> str | None:
        """See `Passages.searched_by`."""
        with self._lock:
            return self._models.get(collection) if first is None else self._models.setdefault(collection, first)

    def switch(self, collection: str, *, model: str) -> bool:
        """See `Passages.switch`."""
        with self._lock:
            if self._pending(collection, model, None):
                return False
            self._models[collection] = model
            return True

    def drop_other_models(self, collection: str, *, model: str) -> None:
        """See `Passages.drop_other_models`."""
        with self._lock:
            for stored in self._of(collection, None):
                stored.vectors = {place: vector for place, vector in stored.vectors.items() if place[1] == model}

    def index_if_large(self, collection: str, *, model: str, dimensions: int) -> bool:  # noqa: ARG002  # always exact
        """See `Passages.index_if_large`."""
        return False

    def drop_index(self, collection: str, *, model: str) -> None:
        """See `Passages.drop_index`: there is none."""

    def _pending(self, collection: str, model: str, session_ids: Sequence[str] | None) -> list[PendingPassage]:
        with self._lock:
            return [
                PendingPassage(stored.cut.session_id, passage.key, passage.text)
                for stored in self._of(collection, session_ids)
                for passage in stored.pending(model)
            ]

    def _of(self, collection: str, session_ids: Sequence[str] | None) -> list[_Stored]:
        sessions = self._sessions.get(collection, {})
        chosen = sessions if session_ids is None else set(session_ids) & sessions.keys()
        return [sessions[session_id] for session_id in sorted(chosen)]


def _passes(passage: EmbeddedPassage, where: PassageFilter) -> bool:
    return (where.start is None or passage.last_at >= where.start) and (
        where.end is None or passage.first_at < where.end
    )
