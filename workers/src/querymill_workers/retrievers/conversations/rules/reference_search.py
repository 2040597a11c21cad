"""All references of a collection at once: an inverted index over key phrases, read with prefix filtering.

An implicit reference shares at least ``needed`` phrases of the earlier session. Any ``leading`` phrases of that
session hold three of those; its rarest ones are indexed, so that a pair is counted only where it shares three rare
phrases; likewise two of those that an explicit reference shares. (Bayardo, Ma and Srikant, "Scaling up all pairs
similarity search", 2007, called this prefix filtering.)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

from querymill_workers.retrievers.conversations.rules.references import MIN_EXPLICIT, MIN_IMPLICIT, Kind, Reference

_Ints = npt.NDArray[np.int64]

#: Pairs that are counted in one go: what bounds the memory, at 8 bytes a pair and some times that for sorting.
BLOCK: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class FactTable:
    """The sessions of a collection in columns, ordered by (start, id); ``phrases`` are those of one after another's."""

    session_ids: Sequence[str]
    started: _Ints  # microseconds
    explicit: npt.NDArray[np.bool_]
    sizes: _Ints
    phrases: _Ints

    def __len__(self) -> int:
        return len(self.session_ids)

    def part(self, number: int, *, parts: int) -> _Ints:
        """List the places of the sessions of one part; which part a session is in depends on its id alone.

        So parts that are found from tables of different times leave none out, whatever came or went between.
        """
        places = (place for place, id_ in enumerate(self.session_ids) if crc32(id_.encode()) % parts == number)
        return np.fromiter(places, np.int64)


@dataclass(frozen=True, slots=True)
class ReferenceColumns:
    """References in columns; source and target are places in the table."""

    sources: _Ints
    targets: _Ints
    explicit: npt.NDArray[np.bool_]
    shared: _Ints

    def references(self, table: FactTable) -> Iterator[Reference]:
        """Spell the references out."""
        columns = (self.sources.tolist(), self.targets.tolist(), self.explicit.tolist(), self.shared.tolist())
        for source, target, explicit, shared in zip(*columns, strict=True):
            kind: Kind = "explicit" if explicit else "implicit"
            ids = table.session_ids
            yield Reference(ids[source], ids[target], kind, shared, int(table.sizes[target]))


class ReferenceSearch:
    """Finds the references of the sessions of one table."""

    def __init__(self, table: FactTable) -> None:
        self._table = table
        self._count = max(len(table), 1)
        _, terms, frequencies = np.unique(table.phrases, return_inverse=True, return_counts=True)
        owners = np.repeat(np.arange(len(table), dtype=np.int64), table.sizes)
        # Each session's phrases, the rarest first.
        order = np.lexsort((terms, frequencies[terms], owners))
        self._terms = terms[order].astype(np.int64)
        self._owners = owners
        self._starts = np.concatenate([[0], np.cumsum(table.sizes)]).astype(np.int64)
        places = np.arange(len(owners), dtype=np.int64) - self._starts[owners]
        self._needed = np.maximum(MIN_IMPLICIT, 3 * table.sizes // 5 + 1)
        leads = places < (table.sizes - self._needed + MIN_IMPLICIT)[owners]
        self._leading = _Postings(self._terms[leads], owners[leads], self._count)
        enough = np.maximum(MIN_EXPLICIT, -(-table.sizes // 5))
        leads = places < (table.sizes - enough + MIN_EXPLICIT)[owners]
        self._leading_explicit = _Postings(self._terms[leads], owners[leads], self._count)
        # Only sessions that began earlier count: those below this place.
        self._earlier = np.searchsorted(table.started, table.started, side="left").astype(np.int64)
        # For each phrase and session, so that one can ask whether a session has a phrase.
        self._held = np.sort(self._terms * self._count + owners)

    def find(self, sources: _Ints) -> ReferenceColumns:
        """Find the references from these sessions, places in the table."""
        parts = [*self._implicit(sources), *self._explicit(sources[self._table.explicit[sources]])]
        if not parts:
            none = np.zeros(0, np.int64)
            return ReferenceColumns(none, none, none.astype(bool), none)
        return ReferenceColumns(
            np.concatenate([part.sources for part in parts]),
            np.concatenate([part.targets for part in parts]),
            np.concatenate([part.explicit for part in parts]),
            np.concatenate([part.shared for part in parts]),
        )

    def _implicit(self, sources: _Ints) -> Iterator[ReferenceColumns]:
        for source, target, shared in self._candidates(self._leading, sources, least=MIN_IMPLICIT):
            kept = shared >= self._needed[target]
            yield ReferenceColumns(source[kept], target[kept], np.zeros(int(kept.sum()), bool), shared[kept])

    def _explicit(self, sources: _Ints) -> Iterator[ReferenceColumns]:
        for source, target, shared in self._candidates(self._leading_explicit, sources, least=MIN_EXPLICIT):
            kept = 5 * shared >= self._table.sizes[target]
            best = self._best(source[kept], target[kept], shared[kept])
            found = source[kept][best], target[kept][best], np.ones(len(best), bool), shared[kept][best]
            yield ReferenceColumns(*found)

    def _candidates(self, postings: "_Postings", sources: _Ints, *, least: int) -> Iterator[tuple[_Ints, _Ints, _Ints]]:
        """Give (source, earlier session, shared phrases) where at least so many leading phrases are shared."""
        for pairs in self._pairs(postings, sources):
            keys, counts = np.unique(pairs, return_counts=True)
            keys = keys[counts >= least]
            source, target = keys // self._count, keys % self._count
            yield source, target, self._shared(source, target)

    def _best(self, source: _Ints, target: _Ints, shared: _Ints) -> _Ints:
        """Pick each source's target of the highest overlap, ties by id; fractions of small numbers compare exactly."""
        overlaps = shared / self._table.sizes[target]
        ids = np.argsort(np.argsort(np.array([self._table.session_ids[place] for place in target], dtype=object)))
        order = np.lexsort((ids, -overlaps, source))
        first = np.ones(len(order), bool)
        first[1:] = source[order][1:] != source[order][:-1]
        return order[first]

    def _pairs(self, postings: "_Postings", sources: _Ints) -> Iterator[_Ints]:
        """Give (source, earlier session) for every phrase they share, as ``source × count + session``, in blocks."""
        for block, first, lengths in postings.matches(self._terms, self._starts, self._earlier, sources):
            taken = _ranges(first, lengths)
            yield np.repeat(block, lengths) * self._count + postings.owners[taken]

    def _shared(self, source: _Ints, target: _Ints) -> _Ints:
        """Count the phrases of each target that its source has too."""
        sizes = self._table.sizes[target]
        phrases = self._terms[_ranges(self._starts[target], sizes)]
        asked = phrases * self._count + np.repeat(source, sizes)
        places = np.minimum(np.searchsorted(self._held, asked), max(len(self._held) - 1, 0))
        hits = self._held[places] == asked if len(asked) else np.zeros(0, bool)
        return np.bincount(np.repeat(np.arange(len(target)), sizes)[hits], minlength=len(target)).astype(np.int64)


class _Postings:
    """Which sessions have a phrase, in their order."""

    def __init__(self, terms: _Ints, owners: _Ints, count: int) -> None:
        self._count = count
        self._keys = np.sort(terms * count + owners)
        self.owners = self._keys % count

    def matches(
        self, terms: _Ints, starts: _Ints, earlier: _Ints, sources: _Ints
    ) -> Iterator[tuple[_Ints, _Ints, _Ints]]:
        """For the phrases of the sources, in blocks: whose it is, and where its earlier sessions begin, how many.

        A source's phrases are all in one block.
        """
        sizes = starts[sources + 1] - starts[sources]
        owners = np.repeat(sources, sizes)
        asked = terms[_ranges(starts[sources], sizes)] * self._count
        first = np.searchsorted(self._keys, asked)
        lengths = np.searchsorted(self._keys, asked + earlier[owners]) - first
        begins = np.concatenate([[0], np.cumsum(sizes)])
        work = np.concatenate([[0], np.cumsum(lengths)])[begins]
        at = 0
        while at < len(sources):
            end = max(int(np.searchsorted(work, work[at] + BLOCK, side="right")) - 1, at + 1)
            some = slice(int(begins[at]), int(begins[end]))
            yield owners[some], first[some], lengths[some]
            at = end


def _ranges(first: _Ints, lengths: _Ints) -> _Ints:
    """Join the ranges that begin at ``first`` and have these lengths."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    places: _Ints = np.arange(total, dtype=np.int64) + np.repeat(first - (ends - lengths), lengths)
    return places
