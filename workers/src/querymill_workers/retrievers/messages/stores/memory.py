"""Messages in memory: every search compares every row."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

from typing_extensions import override

from querymill_shared.contracts.filters import Filterable, passes
from querymill_workers.retrievers.messages.ports import Messages, Nearest, PreparedSession
from querymill_workers.retrievers.messages.rules.sessions import (
    MessageFilter,
    MessagePassage,
    MessageRow,
    MessageSpan,
    texts_of,
)
from querymill_workers.retrievers.messages.stores.memory_sessions import MemorySessions
from querymill_workers.text.similarity import Vector, cosine


class MemoryMessages(Messages):
    """`Messages` in memory, over the sessions in ``sessions``."""

    def __init__(self) -> None:
        self.sessions = MemorySessions()
        self._lock = self.sessions.lock

    @contextmanager
    @override
    def snapshot(self) -> Iterator[None]:
        with self._lock:
            yield

    @override
    def nearest(
        self,
        where: MessageFilter,
        vector: Vector,
        *,
        model: str,
        limit: int,
        floor: float,
        brief: bool = False,  # whole rows cost nothing here
    ) -> Nearest:
        with self._lock:
            seen, vectors = self._seen(where), self._vectors(where.collection, model)
            waiting = self.sessions.vectors.pending(where.collection, model=model, limit=sys.maxsize)
            rows = [
                _row(prepared, passage, cosine(vectors[passage.key], vector))
                for prepared, passage in seen
                if passage.key in vectors
            ]
        lacking = {passage.key for _, passage in seen} - vectors.keys()
        pending = lacking & {passage.key for passage in waiting}
        nearest: dict[tuple[str, str], MessageRow] = {}
        for row in sorted(rows, key=_rank):
            nearest.setdefault(row.message, row)
        ranked = list(nearest.values())
        passed = sum(row.raw is not None and row.raw >= floor for row in ranked)
        return Nearest(ranked[:limit], passed, exact=True, skipped=len(lacking), pending=len(pending))

    @override
    def containing(self, where: MessageFilter, text: str, *, limit: int) -> tuple[Sequence[MessageRow], int]:
        with self._lock:
            rows = {passage.text_id: _row(prepared, passage) for prepared, passage in self._seen(where)}
        found = [row for row in rows.values() if text.casefold() in row.content.casefold()]
        found.sort(key=lambda row: row.vector_id)
        found.sort(key=lambda row: row.created_at, reverse=True)
        return found[:limit], len(found)

    @override
    def rows(
        self,
        where: MessageFilter,
        vector_ids: Sequence[str],
        vector: Vector | None,
        *,
        model: str,
        brief: bool = False,  # whole rows cost nothing here
    ) -> Mapping[str, MessageRow]:
        found: dict[str, MessageRow] = {}
        with self._lock:
            vectors = self._vectors(where.collection, model)
            for prepared, passage in self._seen(where):
                if passage.text_id in vector_ids:
                    own = None if vector is None else vectors.get(passage.key)
                    raw = None if own is None or vector is None else cosine(own, vector)
                    known = found.get(passage.text_id)
                    if known is None or known.raw is None or (raw is not None and raw > known.raw):
                        found[passage.text_id] = _row(prepared, passage, raw)
        return found

    @override
    def sessions_of(self, where: MessageFilter, *, limit: int) -> Sequence[str]:
        with self._lock:
            return sorted({prepared.session.session_id for prepared, _ in self._seen(where)})[:limit]

    def _vectors(self, collection: str, model: str) -> Mapping[str, Vector]:
        """Return the vectors of a model by the keys of their passages, which differ between sessions."""
        return {key: vector for (_, key), vector in self.sessions.vectors.vectors(collection, model=model).items()}

    def _seen(self, where: MessageFilter) -> list[tuple[PreparedSession, MessagePassage]]:
        known = {} if where.lacking is None else self._vectors(where.collection, where.lacking)
        return [
            (prepared, passage)
            for prepared, passage in self.sessions.passages(where.collection)
            if passage.vector_type in where.vector_types
            and (where.session_id is None or prepared.session.session_id == where.session_id)
            and not _is_excluded(prepared, passage, where)
            and passage.key not in known
            and (not where.conditions or passes(where.conditions, _filterable(prepared, passage)))
        ]


def _filterable(prepared: PreparedSession, passage: MessagePassage) -> Filterable:
    fields: dict[str, str | datetime | None] = {
        "user_name": prepared.session.user_name,
        "role": passage.role,
        "session_id": prepared.session.session_id,
        "time": passage.created_at,
    }
    return Filterable(fields, passage.metadata)


def _row(prepared: PreparedSession, passage: MessagePassage, raw: float | None = None) -> MessageRow:
    session = prepared.session
    places = {message.key: place for place, message in enumerate(prepared.messages)}
    contents = {text.text_id: text.content for text in texts_of(prepared.passages)}
    end = passage.start + len(passage.content)
    found_by = MessageSpan(passage.start, end, passage.number, passage.passages)
    return MessageRow(
        vector_id=passage.text_id,
        message_key=passage.message_key,
        message_id=passage.message_id,
        session_id=session.session_id,
        content=contents[passage.text_id],
        vector_type=passage.vector_type,
        created_at=passage.created_at,
        session_name=session.name,
        user_name=session.user_name,
        message_role=passage.role,
        raw=raw,
        passage=found_by if raw is not None and passage.passages > 1 else None,
        metadata=passage.metadata,
        place=places.get(passage.message_key),
    )


def _is_excluded(prepared: PreparedSession, passage: MessagePassage, where: MessageFilter) -> bool:
    in_session = where.exclude_session_id in (None, prepared.session.session_id)
    near = (passage.message_id, *passage.around)
    return where.exclude_message_id is not None and in_session and where.exclude_message_id in near


def _rank(row: MessageRow) -> tuple[float, str]:
    return -(row.raw or 0.0), row.vector_id
