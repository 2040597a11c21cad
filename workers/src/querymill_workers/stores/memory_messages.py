"""The messages of chats in this process: every row is compared, one after the other."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from querymill_workers.domain.sessions import MessageFilter, MessagePassage, MessageRow, PendingPassage
from querymill_workers.ports import Nearest, Revision, SessionDraft, Vectors

_Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Stored:
    """A passage of one session and model, as far as it has come."""

    session_id: str
    model: str
    passage: MessagePassage
    embedding: _Vector | None = None
    indexed: bool = False


class MemoryMessages:
    """`Messages` without a server."""

    def __init__(self) -> None:
        self._sessions: dict[tuple[str, str], tuple[SessionDraft, Revision | None]] = {}
        self._rows: dict[str, dict[tuple[str, str], _Stored]] = {}
        self._lock = threading.RLock()

    def nearest(self, where: MessageFilter, vector: _Vector, *, model: str, most: int, floor: float) -> Nearest:
        """See `Messages.nearest`."""
        with self._lock:
            seen = list(self._seen(where))
            rows = [
                self._row(where.collection, stored, cosine(stored.embedding, vector))
                for stored in seen
                if stored.model == model and stored.embedding is not None
            ]
        every = {stored.passage.vector_id for stored in seen}
        skipped = every - {stored.passage.vector_id for stored in seen if _has_vector(stored, model)}
        passed = sum(row.raw is not None and row.raw >= floor for row in rows)
        ranked = sorted(rows, key=lambda row: (-(row.raw or 0.0), row.vector_id))
        return Nearest(ranked[:most], passed, exact=True, skipped=len(skipped))

    def containing(self, where: MessageFilter, text: str, *, most: int) -> tuple[Sequence[MessageRow], int]:
        """See `Messages.containing`."""
        with self._lock:
            found = {
                stored.passage.vector_id: self._row(where.collection, stored)
                for stored in self._seen(where)
                if text.casefold() in stored.passage.content.casefold()
            }
        rows = sorted(found.values(), key=lambda row: row.vector_id)
        rows.sort(key=lambda row: row.created_at, reverse=True)
        return rows[:most], len(rows)

    def rows(
        self, where: MessageFilter, vector_ids: Sequence[str], vector: _Vector | None, *, model: str
    ) -> Mapping[str, MessageRow]:
        """See `Messages.rows`."""
        with self._lock:
            seen = [stored for stored in self._seen(where) if stored.passage.vector_id in vector_ids]
            seen.sort(key=lambda stored: stored.model == model)
            return {
                stored.passage.vector_id: self._row(
                    where.collection,
                    stored,
                    cosine(stored.embedding, vector)
                    if vector is not None and stored.embedding is not None and stored.model == model
                    else None,
                )
                for stored in seen
            }

    def revision(self, collection: str, session_id: str) -> Revision | None:
        """See `Messages.revision`."""
        known = self._sessions.get((collection, session_id))
        return None if known is None else known[1]

    def leaving(self, collection: str, draft: SessionDraft) -> Sequence[PendingPassage]:
        """See `Messages.leaving`."""
        kept = {passage.vector_id for passage in draft.passages}
        with self._lock:
            stored = self._of_session(collection, draft.session.session_id)
            gone = {one.passage.vector_id: one for one in stored if one.passage.vector_id not in kept}
        return [PendingPassage(id_, one.passage.vector_type, "") for id_, one in gone.items()]

    def put(self, collection: str, draft: SessionDraft, *, model: str) -> None:
        """See `Messages.put`."""
        session_id = draft.session.session_id
        with self._lock:
            self._sessions[collection, session_id] = (draft, None)
            for gone in self.leaving(collection, draft):
                for key in [key for key in self._rows[collection] if key[0] == gone.vector_id]:
                    del self._rows[collection][key]
            rows = self._rows.setdefault(collection, {})
            for passage in draft.passages:
                known = rows.get((passage.vector_id, model))
                if known is not None and known.passage.content == passage.content:
                    rows[passage.vector_id, model] = replace(known, passage=passage)
                else:
                    rows[passage.vector_id, model] = _Stored(session_id, model, passage)

    def unindexed(self, collection: str, session_id: str, *, model: str) -> Sequence[PendingPassage]:
        """See `Messages.unindexed`."""
        with self._lock:
            stored = self._of_session(collection, session_id)
            return [_pending(one) for one in stored if one.model == model and not one.indexed]

    def mark_indexed(self, collection: str, passages: Sequence[PendingPassage], *, model: str) -> None:
        """See `Messages.mark_indexed`."""
        with self._lock:
            for passage in passages:
                known = self._rows.get(collection, {}).get((passage.vector_id, model))
                if known is not None and known.passage.content == passage.content:
                    self._rows[collection][passage.vector_id, model] = replace(known, indexed=True)

    def pending(self, collection: str, session_id: str, *, model: str) -> Sequence[PendingPassage]:
        """See `Messages.pending`."""
        with self._lock:
            stored = self._of_session(collection, session_id)
            lacking = [one for one in stored if one.model == model and one.embedding is None]
        lacking.sort(key=lambda one: (one.passage.created_at, one.passage.vector_id))
        lacking.sort(key=lambda one: one.passage.vector_type, reverse=True)
        return [_pending(one) for one in lacking]

    def fill(self, collection: str, passages: Sequence[PendingPassage], vectors: Vectors, *, model: str) -> None:
        """See `Messages.fill`."""
        with self._lock:
            for passage, vector in zip(passages, vectors, strict=True):
                known = self._rows.get(collection, {}).get((passage.vector_id, model))
                if known is not None and known.passage.content == passage.content:
                    self._rows[collection][passage.vector_id, model] = replace(known, embedding=vector)

    def complete(self, collection: str, session_id: str, revision: Revision, *, model: str) -> None:
        """See `Messages.complete`."""
        with self._lock:
            draft, _ = self._sessions[collection, session_id]
            if draft.revision != revision:
                return
            self._sessions[collection, session_id] = (draft, revision)
            rows = self._rows.get(collection, {})
            self._rows[collection] = {
                key: one for key, one in rows.items() if one.session_id != session_id or one.model == model
            }

    def _seen(self, where: MessageFilter) -> list[_Stored]:
        return [
            stored
            for stored in self._rows.get(where.collection, {}).values()
            if stored.passage.vector_type in where.vector_types
            and (where.session_id is None or stored.session_id == where.session_id)
            and (
                where.exclude_message_id is None
                or stored.passage.message_id is None
                or stored.passage.message_id != where.exclude_message_id
            )
        ]

    def _of_session(self, collection: str, session_id: str) -> list[_Stored]:
        return [one for one in self._rows.get(collection, {}).values() if one.session_id == session_id]

    def _row(self, collection: str, stored: _Stored, raw: float | None = None) -> MessageRow:
        passage = stored.passage
        draft, _ = self._sessions[collection, stored.session_id]
        keyed = zip(draft.messages, draft.session.messages, strict=True)
        roles = {message.key: given.role for message, given in keyed}
        return MessageRow(
            vector_id=passage.vector_id,
            message_key=passage.message_key,
            message_id=passage.message_id,
            session_id=stored.session_id,
            content=passage.content,
            vector_type=passage.vector_type,
            created_at=passage.created_at,
            session_name=draft.session.name,
            user_name=draft.session.user_name,
            message_role=roles.get(passage.message_key),
            raw=raw,
        )


def cosine(one: _Vector, other: _Vector) -> float:
    """Compare two vectors: 1 for the same direction, 0 where one of them is zero."""
    length = float(np.linalg.norm(one)) * float(np.linalg.norm(other))
    return float(one @ other) / length if length else 0.0


def _has_vector(stored: _Stored, model: str) -> bool:
    return stored.model == model and stored.embedding is not None


def _pending(stored: _Stored) -> PendingPassage:
    return PendingPassage(stored.passage.vector_id, stored.passage.vector_type, stored.passage.content)
