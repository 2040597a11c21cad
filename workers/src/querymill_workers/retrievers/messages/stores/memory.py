"""Messages in memory: every search compares every row."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

from querymill_shared.contracts.filters import Filterable, passes
from querymill_workers.retrievers.messages.ports import Nearest
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter, MessageRow, Passage
from querymill_workers.retrievers.messages.stores.memory_sessions import MemorySessions, StoredPassage
from querymill_workers.text.similarity import Vector, cosine


class MemoryMessages:
    """`Messages` in memory, over the sessions in ``sessions``."""

    def __init__(self) -> None:
        self.sessions = MemorySessions()
        self._lock = self.sessions.lock

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """See `Messages.snapshot`."""
        with self._lock:
            yield

    def nearest(
        self,
        where: MessageFilter,
        vector: Vector,
        *,
        model: str,
        limit: int,
        floor: float,
        brief: bool = False,  # noqa: ARG002  # whole rows cost nothing here
    ) -> Nearest:
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
        refused = {stored.passage.vector_id for stored in seen if stored.set_aside and stored.model == model}
        nearest: dict[tuple[str, str], MessageRow] = {}
        for row in sorted(rows, key=_rank):
            nearest.setdefault(row.message, row)
        ranked = list(nearest.values())
        passed = sum(row.raw is not None and row.raw >= floor for row in ranked)
        return Nearest(
            ranked[:limit], passed, exact=True, skipped=len(skipped), pending=len(skipped - refused)
        )  # fmt: skip

    def containing(self, where: MessageFilter, text: str, *, limit: int) -> tuple[Sequence[MessageRow], int]:
        """See `Messages.containing`."""
        with self._lock:
            seen = {stored.passage.text_id: stored for stored in self._seen(where)}
            rows = {text_id: self._row(where.collection, stored) for text_id, stored in seen.items()}
        found = [row for row in rows.values() if text.casefold() in row.content.casefold()]
        found.sort(key=lambda row: row.vector_id)
        found.sort(key=lambda row: row.created_at, reverse=True)
        return found[:limit], len(found)

    def rows(
        self,
        where: MessageFilter,
        vector_ids: Sequence[str],
        vector: Vector | None,
        *,
        model: str,
        brief: bool = False,  # noqa: ARG002  # whole rows cost nothing here
    ) -> Mapping[str, MessageRow]:
        """See `Messages.rows`."""
        with self._lock:
            seen = [stored for stored in self._seen(where) if stored.passage.text_id in vector_ids]
            seen.sort(key=lambda stored: stored.model == model)
            found: dict[str, MessageRow] = {}
            for stored in seen:
                compares = vector is not None and _has_vector(stored, model)
                raw = cosine(stored.embedding, vector) if compares else None  # type: ignore[arg-type]  # it has one
                row, known = self._row(where.collection, stored, raw), found.get(stored.passage.text_id)
                if known is None or known.raw is None or (raw is not None and raw > known.raw):
                    found[row.vector_id] = row
            return found

    def sessions_of(self, where: MessageFilter, *, limit: int) -> Sequence[str]:
        """See `Messages.sessions_of`."""
        with self._lock:
            return sorted({stored.session_id for stored in self._seen(where)})[:limit]

    def index_if_large(self, collection: str, *, model: str, dimensions: int) -> bool:  # noqa: ARG002  # the port's signature
        """See `Messages.index_if_large`: every search compares every row."""
        return False

    def drop_index(self, collection: str, *, model: str) -> None:
        """See `Messages.drop_index`: there is none."""

    def _seen(self, where: MessageFilter) -> list[StoredPassage]:
        return [
            stored
            for stored in self.sessions.rows[where.collection].values()
            if stored.passage.vector_type in where.vector_types
            and (where.session_id is None or stored.session_id == where.session_id)
            and not _is_excluded(stored, where)
            and (where.lacking is None or (stored.model == where.lacking and stored.embedding is None))
            and (not where.conditions or passes(where.conditions, self._filterable(where.collection, stored)))
        ]

    def _filterable(self, collection: str, stored: StoredPassage) -> Filterable:
        session = self.sessions.sessions[collection, stored.session_id].prepared.session
        fields: dict[str, str | datetime | None] = {
            "user_name": session.user_name,
            "role": stored.passage.role,
            "session_id": stored.session_id,
            "time": stored.passage.created_at,
        }
        return Filterable(fields, stored.passage.metadata)

    def _row(self, collection: str, stored: StoredPassage, raw: float | None = None) -> MessageRow:
        passage = stored.passage
        prepared = self.sessions.sessions[collection, stored.session_id].prepared
        session = prepared.session
        places = {message.key: place for place, message in enumerate(prepared.messages)}
        end = passage.start + len(passage.content)
        found_by = Passage(passage.start, end, passage.number, passage.passages)
        return MessageRow(
            vector_id=passage.text_id,
            message_key=passage.message_key,
            message_id=passage.message_id,
            session_id=stored.session_id,
            content=self.sessions.whole_text(collection, stored),
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


def _is_excluded(stored: StoredPassage, where: MessageFilter) -> bool:
    in_session = where.exclude_session_id in (None, stored.session_id)
    near = (stored.passage.message_id, *stored.passage.around)
    return where.exclude_message_id is not None and in_session and where.exclude_message_id in near


def _has_vector(stored: StoredPassage, model: str) -> bool:
    return stored.model == model and stored.embedding is not None


def _rank(row: MessageRow) -> tuple[float, str]:
    return -(row.raw or 0.0), row.vector_id
