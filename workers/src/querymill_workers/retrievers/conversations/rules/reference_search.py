"""Find all references of a collection at once, with an inverted index over key phrases and prefix filtering.

An implicit reference shares at least ``needed`` phrases of the earlier session, and any ``leading`` phrases of that
session contain three of them. Only its rarest ``leading`` phrases are indexed, so a pair is compared only if it
shares three rare phrases. For explicit references, two shared phrases take the place of three. (Prefix filtering:
Bayardo, Ma and Srikant, "Scaling up all pairs similarity search", 2007.)
"""

from collections.abc import Iterator, Sequence
from typing import Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

from querymill_shared.values import value
from querymill_workers.retrievers.conversations.rules.references import MIN_EXPLICIT, MIN_IMPLICIT, Kind, Reference

_Ints = npt.NDArray[np.int64]

#: Pairs counted at once. This bounds the memory: 8 bytes for each pair, and a multiple of that for sorting.
BLOCK: Final = 1_000_000


@value
class FactTable:
    """The sessions of a collection by column, ordered by (start, id); ``phrases`` joins the phrases of all sessions."""

    session_ids: Sequence[str]
    started: _Ints  # microseconds
    explicit: npt.NDArray[np.bool_]
    sizes: _Ints
    phrases: _Ints

    def __len__(self) -> int:
        return len(self.session_ids)

    def part(self, number: int, *, parts: int) -> _Ints:
        """List the places of the sessions of one part. The part of a session depends on its id alone.

        So parts computed from tables of different times miss no session, even if others came or went in between.
        """
        places = (place for place, id_ in enumerate(self.session_ids) if crc32(id_.encode()) % parts == number)
        return np.fromiter(places, np.int64)


@value
class ReferenceColumns:
    """References by column; sources and targets are places in the table."""

    sources: _Ints
    targets: _Ints
    explicit: npt.NDArray[np.bool_]
    shared: _Ints

    def references(self, table: FactTable) -> Iterator[Reference]:
        """Yield the references with the ids of their sessions."""
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
        # The phrases of each session, the rarest first.
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
        # A session can only refer to those below this place, which began earlier.
        self._earlier = np.searchsorted(table.started, table.started, side="left").astype(np.int64)
        # A key for each phrase and session, to look up whether a session has a phrase.
        self._held = np.sort(self._terms * self._count + owners)

    def find(self, sources: _Ints) -> ReferenceColumns:
        """Find the references from the sessions at these places in the table."""
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
        """Yield (source, earlier session, shared phrases) of the pairs that share ``least`` leading phrases or more."""
        for pairs in self._pairs(postings, sources):
            keys, counts = np.unique(pairs, return_counts=True)
            keys = keys[counts >= least]
            source, target = keys // self._count, keys % self._count
            yield source, target, self._shared(source, target)

    def _best(self, source: _Ints, target: _Ints, shared: _Ints) -> _Ints:
        """Pick the target of the highest overlap for each source, ties by id. Fractions this small compare exactly."""
        overlaps = shared / self._table.sizes[target]
        ids = np.argsort(np.argsort(np.array([self._table.session_ids[place] for place in target], dtype=object)))
        order = np.lexsort((ids, -overlaps, source))
        first = np.ones(len(order), bool)
        first[1:] = source[order][1:] != source[order][:-1]
        return order[first]

    def _pairs(self, postings: "_Postings", sources: _Ints) -> Iterator[_Ints]:
        """Yield (source, earlier session) for every phrase they share, as ``source × count + session``, in blocks."""
        for block, first, lengths in postings.matches(self._terms, self._starts, self._earlier, sources):
            taken = _ranges(first, lengths)
            yield np.repeat(block, lengths) * self._count + postings.owners[taken]

    def _shared(self, source: _Ints, target: _Ints) -> _Ints:
        """Count the phrases that each target shares with its source."""
        sizes = self._table.sizes[target]
        phrases = self._terms[_ranges(self._starts[target], sizes)]
        asked = phrases * self._count + np.repeat(source, sizes)
        places = np.minimum(np.searchsorted(self._held, asked), max(len(self._held) - 1, 0))
        hits = self._held[places] == asked if len(asked) else np.zeros(0, bool)
        return np.bincount(np.repeat(np.arange(len(target)), sizes)[hits], minlength=len(target)).astype(np.int64)


class _Postings:
    """The sessions that have each phrase, in order."""

    def __init__(self, terms: _Ints, owners: _Ints, count: int) -> None:
        self._count = count
        self._keys = np.sort(terms * count + owners)
        self.owners = self._keys % count

    def matches(
        self, terms: _Ints, starts: _Ints, earlier: _Ints, sources: _Ints
    ) -> Iterator[tuple[_Ints, _Ints, _Ints]]:
        """Yield, for each phrase of the sources: its source, the place of its first session, and how many are earlier.

        Yields blocks of three columns. All phrases of a source are in one block.
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
    """Concatenate the ranges that begin at ``first`` and have these lengths."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    places: _Ints = np.arange(total, dtype=np.int64) + np.repeat(first - (ends - lengths), lengths)
    return places
