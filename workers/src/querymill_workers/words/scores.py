"""Which entries match a query best: BM25 over the postings of its terms, some from blocks and some from runs.

Sums are computed in numpy first. What lies within `ROUNDING` of the last place is scored again by the formula itself,
so the order is exact whatever the order of the additions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final

import numpy as np
import numpy.typing as npt

from querymill_shared.values import value
from querymill_workers.text import bm25
from querymill_workers.words.runs import POSTING, Numbers, Postings, Run

#: An upper bound for the difference between sums of the same numbers in another order.
ROUNDING: Final = 1e-9

_RANGE: Final = np.dtype([("first", ">i8"), ("last", ">i8")])


@value
class PostingBlock:
    """Postings of one term. ``postings`` is empty where ``n`` are left out, because no range of a filter meets them."""

    n: int
    postings: bytes


@value
class Snapshot:
    """What an index holds about the terms of a query, as of one moment.

    Attributes:
        units: The entries that are folded.
        length: Their words.
        tail: The runs that are not folded.
        blocks: By term, what is folded.
        ranges: The ranges of numbers that a filter lets through, in columns; None without a filter.
    """

    units: int
    length: int
    tail: Run
    blocks: Mapping[str, PostingBlock] = field(default_factory=dict)
    ranges: bytes | None = None


@value
class EntryMatch:
    """An entry that has terms of the query."""

    number: int
    scored: bm25.Scored


def best(
    snapshot: Snapshot, asked: Mapping[str, float], *, limit: int, tuning: bm25.Tuning = bm25.PLAIN
) -> list[EntryMatch]:
    """Return the best ``limit`` entries and all that tie with the last, in any order.

    Args:
        snapshot: What the index holds.
        asked: How often the query has each term. A term that it has 0 times scores nothing and finds nothing.
        limit: How many entries are wanted; 1 or more.
        tuning: The constants of the formula.
    """
    statistics = bm25.IndexStatistics(snapshot.units + snapshot.tail.units, snapshot.length + snapshot.tail.length)
    terms: list[bm25.QueryTerm] = []
    parts: list[Postings] = []
    for term, times in asked.items():
        df, postings = _postings(snapshot, term)
        if df > 0:
            terms.append(bm25.QueryTerm(term, times, df))
            parts.append(postings)
    places = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    found = np.concatenate(parts) if parts else np.empty(0, POSTING)
    let_through = _let_through(found["number"].astype(np.int64), snapshot)
    if let_through is not None:
        places, found = places[let_through], found[let_through]
    return _matches(found, places, terms, statistics, limit, tuning) if len(found) else []


def dfs(snapshot: Snapshot, terms: Sequence[str]) -> dict[str, int]:
    """Return how many entries have each term."""
    return {term: _postings(snapshot, term)[0] for term in terms}


def _postings(snapshot: Snapshot, term: str) -> tuple[int, Postings]:
    """Return how many entries have a term, and postings: those of entries that are gone are among them."""
    block = snapshot.blocks.get(term, PostingBlock(0, b""))
    fresh, signs = snapshot.tail.postings_of(term)
    return block.n + int(signs.sum()), np.concatenate([np.frombuffer(block.postings, POSTING), fresh[signs > 0]])


def _let_through(numbers: Numbers, snapshot: Snapshot) -> npt.NDArray[np.bool_] | None:
    """Tell which entries are neither gone nor outside the ranges of the filter; None if all are let through."""
    gone, chosen = snapshot.tail.gone, None
    if gone.size:
        chosen = ~np.isin(numbers, gone)
    if snapshot.ranges is not None:
        inside = _within(numbers, np.frombuffer(snapshot.ranges, _RANGE))
        chosen = inside if chosen is None else chosen & inside
    return chosen


def _within(numbers: Numbers, ranges: npt.NDArray[np.void]) -> npt.NDArray[np.bool_]:
    """Tell which numbers lie in ranges that do not overlap."""
    if not len(ranges):
        return np.zeros(len(numbers), np.bool_)
    firsts = ranges["first"].astype(np.int64)
    order = np.argsort(firsts)
    places = np.searchsorted(firsts[order], numbers, side="right") - 1
    lasts = ranges["last"].astype(np.int64)[order]
    inside: npt.NDArray[np.bool_] = (places >= 0) & (numbers <= lasts[places])
    return inside


def _matches(
    found: Postings,
    places: Numbers,
    terms: Sequence[bm25.QueryTerm],
    statistics: bm25.IndexStatistics,
    limit: int,
    tuning: bm25.Tuning,
) -> list[EntryMatch]:
    """Score entries. ``places`` tells of each posting which of the terms it is of."""
    weights = np.array([term.times * bm25.idf(statistics.units, term.df) for term in terms])
    tfs = found["tf"].astype(np.float64)
    k1, b = tuning.k1, tuning.b
    slope = k1 * b / statistics.average
    shares = weights[places] * tfs / (tfs + (k1 - k1 * b) + slope * found["length"].astype(np.float64))
    numbers = found["number"].astype(np.int64)
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    sums = np.add.reduceat(shares[order], starts)
    bar = -np.inf if len(sums) <= limit else np.partition(sums, len(sums) - limit)[len(sums) - limit]
    ends = np.append(starts[1:], len(ordered))
    matches = []
    for winner in np.flatnonzero((sums >= bar - ROUNDING) & (sums > 0)).tolist():
        own = order[starts[winner] : ends[winner]]
        counts = {
            terms[place].term: tf for place, tf in zip(places[own].tolist(), found["tf"][own].tolist(), strict=True)
        }
        length = int(found["length"][own[0]])
        scored = bm25.score(counts, length, terms=terms, statistics=statistics, k1=k1, b=b)
        matches.append(EntryMatch(int(ordered[starts[winner]]), scored))
    return matches
