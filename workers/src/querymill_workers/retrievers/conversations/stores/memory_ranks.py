"""The ranks of conversations in the memory of this process, which compares every pair of sessions."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import numpy as np
from typing_extensions import override

from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.jobs.faults import Refused
from querymill_workers.retrievers.conversations.ports.ranks import (
    ConversationRanks,
    Published,
    RankMode,
    RankRow,
    ReferenceGraph,
    Underway,
)
from querymill_workers.retrievers.conversations.rules.page_rank import page_ranks
from querymill_workers.retrievers.conversations.rules.rank import RankParts, age_days, parts_of, rank, reference
from querymill_workers.retrievers.conversations.rules.reference_search import FactTable, ReferenceColumns
from querymill_workers.retrievers.conversations.rules.references import Near, Reference, counted
from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts
from querymill_workers.retrievers.conversations.stores.memory import MemoryConversations

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass
class _Rebuild:
    """A rebuild; changes up to the generation ``since`` are in it."""

    name: str
    mode: RankMode
    since: int
    parts: dict[int, frozenset[Reference]] = field(default_factory=dict)
    published: Published | None = None


class MemoryRanks(ConversationRanks):
    """`ConversationRanks` over the store in memory."""

    def __init__(self, conversations: MemoryConversations) -> None:
        self._kept = conversations
        self._rebuilds: dict[str, dict[str, _Rebuild]] = {}
        self._updates: Counter[str] = Counter()
        self._rebuilt: dict[str, datetime] = {}
        self._modes: dict[str, RankMode] = {}
        self._versions: dict[str, int] = {}
        self._updated: dict[tuple[str, str], int] = {}

    @contextmanager
    @override
    def graph(self, collection: str) -> Iterator["_Graph"]:
        with self._kept.lock:
            graph = _Graph(self._kept, collection, self._modes.get(collection, "count"), self._waiting(collection))
            yield graph
            self._kept.known_references[collection] = frozenset(graph.known)
            self._kept.parts.update(graph.parts)
            for id_ in graph.updated:
                self._updated[collection, id_] = self._kept.changed[collection, id_]
            self._kept.generations[collection] += bool(graph.updated)
            self._updates[collection] += 1

    @override
    def updates(self, collection: str) -> int:
        return self._updates[collection]

    @override
    def waiting(self, collection: str) -> int:
        return len(self._waiting(collection))

    @override
    def find_facts(
        self, collection: str, version: str, facts_of: Callable[[ChatSession], SessionFacts], *, limit: int
    ) -> bool:
        with self._kept.lock:
            stale = [
                place
                for place, prepared in self._kept.prepared.items()
                if place[0] == collection and prepared.facts_version != version
            ]
            for place in stale[:limit]:
                prepared = self._kept.prepared[place]
                facts = facts_of(prepared.session)
                self._kept.prepared[place] = replace(prepared, facts=facts, facts_version=version)
            return bool(stale)

    @override
    def begin(self, collection: str, rebuild: str, *, mode: RankMode, over: Collection[str] = ()) -> set[int]:
        with self._kept.lock:
            begun = self._rebuilds.setdefault(collection, {})
            if rebuild not in begun:
                newest = next(reversed(begun.values()), None)
                if newest is not None and newest.published is None and newest.name not in over:
                    raise Underway(newest.name)
                begun[rebuild] = _Rebuild(rebuild, mode, self._kept.generations[collection])
            return set(self._fetch_newest(collection, rebuild).parts)

    @override
    def table(self, collection: str) -> FactTable:
        with self._kept.lock:
            facts = [prepared.facts for (name, _), prepared in self._kept.prepared.items() if name == collection]
        facts.sort(key=lambda session: (session.started_at, session.session_id))
        return FactTable(
            [session.session_id for session in facts],
            np.array([(session.started_at - _EPOCH) // _MICROSECOND for session in facts], np.int64),
            np.array([session.explicit for session in facts], bool),
            np.array([len(session.key_phrases) for session in facts], np.int64),
            np.array([phrase for session in facts for phrase in sorted(session.key_phrases)], np.int64),
        )

    @override
    def draft(self, collection: str, rebuild: str, part: int, found: ReferenceColumns, table: FactTable) -> None:
        with self._kept.lock:
            self._fetch_newest(collection, rebuild).parts.setdefault(part, frozenset(found.references(table)))

    @override
    def publish(self, collection: str, rebuild: str, *, parts: int) -> Published | None:
        with self._kept.lock:
            known = self._fetch_newest(collection, rebuild)
            if known.published is None and len(known.parts) == parts:
                known.published = self._activate(collection, known)
            return known.published

    @override
    def rebuilt_before(self, moment: datetime) -> Sequence[tuple[str, RankMode]]:
        with self._kept.lock:
            for collection in self._kept.collections():
                self._rebuilt.setdefault(collection, datetime.now(UTC))
            old = [collection for collection, rebuilt in self._rebuilt.items() if rebuilt < moment]
            return [(collection, self._modes.get(collection, "count")) for collection in sorted(old)]

    @override
    def top(self, collection: str, *, now: datetime, limit: int) -> Sequence[RankRow]:
        with self._kept.lock:
            known = self._kept.known_references.get(collection, frozenset())
            rows = [
                RankRow(
                    id_, prepared.session.name, prepared.facts.last_active, self._kept.parts[name, id_],
                    counted(edge for edge in known if edge.target == id_),
                )
                for (name, id_), prepared in self._kept.prepared.items()
                if name == collection
            ]  # fmt: skip
        return sorted(rows, key=lambda row: (-rank(row.parts, age_days(row.last_active, now)), row.session_id))[:limit]

    def _activate(self, collection: str, rebuild: _Rebuild) -> Published:
        self._modes[collection] = rebuild.mode
        with self.graph(collection) as graph:
            graph.known = set().union(*rebuild.parts.values())
            graph.count([id_ for name, id_ in self._kept.prepared if name == collection])
        for place, generation in self._kept.changed.items():
            if place[0] == collection:
                self._updated[place] = generation if generation <= rebuild.since else 0
        version = self._versions[collection] = self._versions.get(collection, 0) + 1
        sessions = len([1 for name, _ in self._kept.prepared if name == collection])
        self._rebuilt[collection] = datetime.now(UTC)
        self._kept.generations[collection] += 1
        return Published(sessions, len(self._kept.known_references[collection]), version)

    def _fetch_newest(self, collection: str, rebuild: str) -> _Rebuild:
        begun = self._rebuilds[collection]
        if list(begun)[-1] != rebuild:
            raise Refused(f"another rebuild of {collection!r} has begun since")
        return begun[rebuild]

    def _waiting(self, collection: str) -> list[str]:
        late = [
            (generation, place[1])
            for place, generation in self._kept.changed.items()
            if place[0] == collection and generation > self._updated.get(place, 0)
        ]
        return [id_ for _, id_ in sorted(late)]


class _Graph(ReferenceGraph):
    """`ReferenceGraph` on copies, which replace the originals at the end."""

    def __init__(self, kept: MemoryConversations, collection: str, mode: RankMode, waiting: list[str]) -> None:
        self._mode = mode
        self._facts = {id_: prepared.facts for (name, id_), prepared in kept.prepared.items() if name == collection}
        self._kept = kept
        self._collection = collection
        self._waiting = waiting
        self.known = set(kept.known_references.get(collection, frozenset()))
        self.parts: dict[tuple[str, str], RankParts] = {}
        self.updated: list[str] = []

    @property
    @override
    def mode(self) -> RankMode:
        return self._mode

    @override
    def changed(self, *, limit: int) -> Sequence[str]:
        return [id_ for id_ in self._waiting if id_ not in self.updated][:limit]

    @override
    def facts(self, session_id: str) -> SessionFacts | None:
        return self._facts.get(session_id)

    @override
    def near(self, session: SessionFacts) -> Sequence[Near]:
        return [
            Near(other.session_id, other.started_at, len(other.key_phrases), other.explicit, shared)
            for other in self._facts.values()
            if other.session_id != session.session_id and (shared := len(other.key_phrases & session.key_phrases)) > 1
        ]

    @override
    def references(self, session_id: str) -> Sequence[Reference]:
        return [edge for edge in self.known if session_id in (edge.source, edge.target)]

    @override
    def explicit(self, sources: Sequence[str]) -> Mapping[str, Reference]:
        return {edge.source: edge for edge in self.known if edge.kind == "explicit" and edge.source in sources}

    @override
    def replace(self, gone: Iterable[Reference], new: Iterable[Reference]) -> None:
        self.known = (self.known - set(gone)) | set(new)

    @override
    def count(self, targets: Iterable[str]) -> None:
        if self._mode == "pagerank":
            pages = page_ranks(list(self._facts), self.known)
            self.parts = {
                (self._collection, id_): replace(parts_of(facts, 0), reference=pages[id_])
                for id_, facts in self._facts.items()
            }
            return
        for id_ in targets:
            if id_ in self._facts:
                weight = counted(edge for edge in self.known if edge.target == id_)
                stored = replace(parts_of(self._facts[id_], 0), reference=reference(weight))
                self.parts[self._collection, id_] = stored

    @override
    def mark_updated(self, session_ids: Sequence[str]) -> None:
        self.updated.extend(session_ids)
