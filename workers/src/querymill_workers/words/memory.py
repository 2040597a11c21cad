"""Text indexes in memory, for unit tests and as the readable reference of what a store does."""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from typing_extensions import override

from querymill_workers.jobs.faults import Refused
from querymill_workers.text import bm25
from querymill_workers.text.words import WORDS_VERSION, words
from querymill_workers.words.asked import NOTHING, Beside, asked_terms
from querymill_workers.words.parts import part_of
from querymill_workers.words.ports import Space, WordHit, Words, WordUnit, stale_index


@dataclass(slots=True)
class _Space:
    """The index of one tokeniser version: group and word counts by id. It is searchable once it is ``whole``."""

    whole: bool
    units: dict[str, tuple[str, Counter[str]]] = field(default_factory=dict)


class MemoryWords(Words):
    """`Words` without a server. A search scores every entry."""

    def __init__(self) -> None:
        #: By collection, space and tokeniser version.
        self._spaces: dict[tuple[str, str, int], _Space] = {}
        self._lock = threading.RLock()

    @override
    def put(self, collection: str, space: Space, units: Sequence[WordUnit]) -> None:
        counted = {unit.id: (unit.group, _counts_of(unit)) for unit in units}
        with self._lock:
            self._own(collection, space).units.update(counted)

    @override
    def extend(self, collection: str, space: Space, units: Sequence[WordUnit]) -> Set[str]:
        with self._lock:
            known = self._own(collection, space).units
            held = [unit for unit in units if unit.id in known]
            for unit in held:
                known[unit.id] = (unit.group, known[unit.id][1] + _counts_of(unit))
            return {unit.id for unit in held}

    @override
    def refill(self, collection: str, space: Space, units: Sequence[WordUnit]) -> None:
        with self._lock:
            known = self._own(collection, space).units
            self.put(collection, space, [unit for unit in units if unit.id not in known])

    @override
    def publish(self, collection: str, space: Space) -> None:
        with self._lock:
            own = self._own(collection, space)
            own.whole = True
            self.drop_all(collection, space)
            self._spaces[collection, space, WORDS_VERSION] = own

    @override
    def drop(self, collection: str, space: Space, ids: Sequence[str]) -> None:
        with self._lock:
            for place in self._versions(collection, space):
                for id_ in ids:
                    self._spaces[place].units.pop(id_, None)

    @override
    def trim(self, collection: str, space: Space, documents: Mapping[str, int]) -> None:
        with self._lock:
            for place in self._versions(collection, space):
                for id_ in list(self._spaces[place].units):
                    document, number = part_of(id_)
                    if document in documents and number >= documents[document]:
                        del self._spaces[place].units[id_]

    @override
    def drop_all(self, collection: str, space: Space) -> None:
        with self._lock:
            for place in self._versions(collection, space):
                del self._spaces[place]

    @override
    def search(
        self,
        collection: str,
        space: Space,
        text: str,
        *,
        limit: int,
        groups: Sequence[str] | None = None,
        tuning: bm25.Tuning = bm25.PLAIN,
        also: Sequence[str] = (),
        beside: Beside = NOTHING,
    ) -> list[WordHit]:
        asked = asked_terms(text, beside, also)
        if not any(asked.values()) or limit < 1:
            return []
        with self._lock:
            if self.stale(collection, space):
                raise Refused(stale_index(collection, space), code="pending")
            units = dict(self._spaces.get((collection, space, WORDS_VERSION), _Space(whole=True)).units)
        statistics = bm25.IndexStatistics(len(units), sum(counts.total() for _, counts in units.values()))
        terms = [
            bm25.QueryTerm(term, times, sum(term in counts for _, counts in units.values()))
            for term, times in asked.items()
        ]
        scores = {
            id_: bm25.score(counts, counts.total(), terms=terms, statistics=statistics, k1=tuning.k1, b=tuning.b)
            for id_, (group, counts) in units.items()
            if (groups is None or group in groups) and any(counts[term] and times for term, times in asked.items())
        }
        hits = [WordHit(id_, scored.score, scored) for id_, scored in scores.items()]
        return sorted(hits, key=lambda hit: (-hit.score, hit.id))[:limit]

    @override
    def near(self, collection: str, space: Space, terms: Sequence[str]) -> Mapping[str, Sequence[str]]:
        with self._lock:
            own = self._spaces.get((collection, space, WORDS_VERSION), _Space(whole=True))
            known = {term for _, counts in own.units.values() for term in counts}
        return {
            term: sorted(other for other in known if other[0] == term[0] and abs(len(other) - len(term)) <= 2)
            for term in terms
            if term not in known
        }

    @override
    def count(self, collection: str, space: Space) -> int:
        own = self._spaces.get((collection, space, WORDS_VERSION))
        return len(own.units) if own else 0

    @override
    def stale(self, collection: str, space: Space) -> bool:
        versions = self._versions(collection, space)
        own = self._spaces.get((collection, space, WORDS_VERSION))
        return bool(versions) and (own is None or not own.whole)

    @override
    def previous_versions(self, collection: str, space: Space) -> Sequence[int]:
        with self._lock:
            return sorted({version for _, _, version in self._versions(collection, space)} - {WORDS_VERSION})

    def tidy(self) -> bool:
        """See `Words.tidy`. There is nothing to do."""
        return False

    def _own(self, collection: str, space: Space) -> _Space:
        """Return the index of this tokeniser version. A new one is whole if no other version has one."""
        new = _Space(whole=not self._versions(collection, space))
        return self._spaces.setdefault((collection, space, WORDS_VERSION), new)

    def _versions(self, collection: str, space: Space) -> list[tuple[str, str, int]]:
        return [place for place in self._spaces if place[:2] == (collection, space)]


def _counts_of(unit: WordUnit) -> Counter[str]:
    return Counter(words(unit.text) if unit.counts is None else unit.counts)
