"""Messages in memory: every search compares every row."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from querymill_workers.retrievers.messages.ports import Nearest
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter, MessageRow
from querymill_workers.retrievers.messages.stores.memory_sessions import MemorySessions, StoredPassage
from querymill_workers.text.similarity import Vector, cosine


class MemoryMessages:
    """`Messages` in memory, over the sessions in ``sessions``."""

    def __init__(self) -> None:
        self.sessions = MemorySessions()
        self._lock = self.sessions.lock

    def nearest(self, where: MessageFilter, vector: Vector, *, model: str, limit: int, floor: float) -> Nearest:
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
        return Nearest(ranked[:limit], passed, exact=True, skipped=len(skipped))

    def containing(self, where: MessageFilter, text: str, *, limit: int) -> tuple[Sequence[MessageRow], int]:
        """See `Messages.containing`."""
        with self._lock:
            found = {
                stored.passage.vector_id: self._row(where.collection, stored)
                for stored in self._seen(where)
                if text.casefold() in stored.passage.content.casefold()
            }
        rows = sorted(found.values(), key=lambda row: row.vector_id)
        rows.sort(key=lambda row: row.created_at, reverse=True)
        return rows[:limit], len(rows)

    def rows(
        self, where: MessageFilter, vector_ids: Sequence[str], vector: Vector | None, *, model: str
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

    def lacking_sessions(self, where: MessageFilter, *, limit: int) -> Sequence[str]:
        """See `Messages.lacking_sessions`."""
        with self._lock:
            rows = [stored for stored in self._seen(where) if stored.embedding is None]
        newest = {stored.session_id: stored.passage.created_at for stored in sorted(rows, key=_age)}
        return sorted(newest, key=lambda session_id: (-newest[session_id].timestamp(), session_id))[:limit]

    def _seen(self, where: MessageFilter) -> list[StoredPassage]:
        return [
            stored
            for stored in self.sessions.rows[where.collection].values()
            if stored.passage.vector_type in where.vector_types
            and (where.session_id is None or stored.session_id == where.session_id)
            and (
                where.exclude_message_id is None
                or where.exclude_message_id not in (stored.passage.message_id, *stored.passage.around)
            )
            and (where.lacking is None or (stored.model == where.lacking and stored.embedding is None))
        ]

    def _row(self, collection: str, stored: StoredPassage, raw: float | None = None) -> MessageRow:
        passage = stored.passage
        prepared = self.sessions.sessions[collection, stored.session_id].prepared
        keyed = zip(prepared.messages, prepared.session.messages, strict=True)
        roles = {message.key: given.role for message, given in keyed}
        return MessageRow(
            vector_id=passage.vector_id,
            message_key=passage.message_key,
            message_id=passage.message_id,
            session_id=stored.session_id,
            content=passage.content,
            vector_type=passage.vector_type,
            created_at=passage.created_at,
            session_name=prepared.session.name,
            user_name=prepared.session.user_name,
            message_role=roles.get(passage.message_key),
            raw=raw,
        )


def _has_vector(stored: StoredPassage, model: str) -> bool:
    return stored.model == model and stored.embedding is not None


def _age(stored: StoredPassage) -> datetime:
    return stored.passage.created_at
