"""Runs: what one write adds to a text index, in columns of bytes that numpy reads.

A run holds, for each of its entries, a number, a length, and a sign: 1 if the entry is new, −1 if it is gone. The terms
follow in the order of the entries, a blank after each, and their counts. Several runs joined end to end read as one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from querymill_shared.values import value

#: The number of an entry is that of its run, shifted by so many bits, plus its place in the run.
PLACE_BITS: Final = 7
#: A run has at most so many entries, and no more of them once it has so many terms.
RUN_ENTRIES, RUN_TERMS = 1 << PLACE_BITS, 4_096

_ENTRY: Final = np.dtype([("number", ">i8"), ("length", ">i4"), ("terms", ">i4"), ("sign", ">i4")])
_TF: Final = np.dtype(">i4")

Numbers = npt.NDArray[np.int64]
#: Structured: an element has ``number``, ``length``, ``tf``.
Postings = npt.NDArray[np.void]
POSTING: Final = np.dtype([("number", ">i8"), ("length", ">i4"), ("tf", ">i4")])


@value
class IndexEntry:
    """One entry of a run. ``length`` counts its words, repetitions included."""

    number: int
    counts: Mapping[str, int]

    @property
    def length(self) -> int:
        """Words, repetitions included."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class Run:
    """Entries in columns, of one run or of several."""

    entries: bytes
    words: bytes
    tfs: bytes

    @property
    def postings(self) -> int:
        """How many terms its entries have."""
        return len(self.tfs) // _TF.itemsize

    @cached_property
    def rows(self) -> npt.NDArray[np.void]:
        """Its entries: ``number``, ``length``, ``terms`` and ``sign`` of each."""
        return np.frombuffer(self.entries, _ENTRY)

    @cached_property
    def numbers(self) -> Numbers:
        """The numbers of its entries."""
        return self.rows["number"].astype(np.int64)

    @cached_property
    def signs(self) -> Numbers:
        """Of each entry, 1 if it is new, −1 if it is gone."""
        return self.rows["sign"].astype(np.int64)

    @cached_property
    def ends(self) -> Numbers:
        """Of each entry, how many terms it and the entries before it have."""
        return np.cumsum(self.rows["terms"], dtype=np.int64)

    @property
    def gone(self) -> Numbers:
        """The numbers of the entries that are gone."""
        return self.numbers[self.signs < 0]

    @property
    def units(self) -> int:
        """How many entries it adds, less those that are gone."""
        return int(self.signs.sum())

    @property
    def length(self) -> int:
        """How many words it adds, less those that are gone."""
        return int((self.signs * self.rows["length"]).sum())

    def postings_of(self, term: str) -> tuple[Postings, Numbers]:
        """Return the postings of a term, and the sign of each."""
        found = list(_occurrences(self.words, term.encode()))
        if not found:
            return np.empty(0, POSTING), np.empty(0, np.int64)
        terms = np.searchsorted(self._blanks, np.array(found))
        rows = np.searchsorted(self.ends, terms, side="right")
        return self._postings(rows, terms), self.signs[rows]

    def spelled(self) -> list[str]:
        """Return its terms in order, with repetitions."""
        return self.words.decode().split()

    def all_postings(self) -> tuple[Postings, Numbers]:
        """Return a posting for each of its terms in order, and the row of its entry."""
        rows = np.repeat(np.arange(len(self.rows)), self.rows["terms"])
        return self._postings(rows, np.arange(self.postings)), rows

    def chosen(self, numbers: Iterable[int]) -> Iterator[IndexEntry]:
        """Yield those of its entries that have these numbers."""
        wanted, terms, tfs = set(numbers), self.spelled(), self._tfs.tolist()
        start = 0
        for number, end in zip(self.numbers.tolist(), self.ends.tolist(), strict=True):
            if number in wanted:
                yield IndexEntry(number, dict(zip(terms[start:end], tfs[start:end], strict=True)))
            start = end

    @cached_property
    def _blanks(self) -> Numbers:
        return np.flatnonzero(np.frombuffer(self.words, np.uint8) == ord(" "))

    @cached_property
    def _tfs(self) -> npt.NDArray[Any]:
        return np.frombuffer(self.tfs, _TF)

    def _postings(self, rows: Numbers, terms: Numbers) -> Postings:
        postings = np.empty(len(rows), POSTING)
        postings["number"], postings["length"] = self.rows["number"][rows], self.rows["length"][rows]
        postings["tf"] = self._tfs[terms]
        return postings


def place_of(number: int) -> int:
    """Return the place of an entry in its run."""
    return number & (RUN_ENTRIES - 1)


def written(entries: Sequence[IndexEntry], *, sign: int = 1) -> Run:
    """Write entries in columns."""
    rows = np.array([(entry.number, entry.length, len(entry.counts), sign) for entry in entries], _ENTRY)
    words = "".join(f"{term} " for entry in entries for term in entry.counts)
    tfs = np.array([tf for entry in entries for tf in entry.counts.values()], _TF)
    return Run(rows.tobytes(), words.encode(), tfs.tobytes())


def packed(sizes: Sequence[int]) -> list[range]:
    """Divide entries, given how many terms each has, into runs. Return the places of each run's entries."""
    runs, start, terms = [], 0, 0
    for place, size in enumerate(sizes):
        if place > start and (place - start == RUN_ENTRIES or terms + size > RUN_TERMS):
            runs.append(range(start, place))
            start, terms = place, 0
        terms += size
    return [*runs, range(start, len(sizes))] if sizes else []


def without(run: Run, gone: Iterable[int]) -> Run:
    """Return a run with nothing left of the entries of these numbers but their places."""
    numbers = set(gone)
    kept = {entry.number: entry for entry in run.chosen(set(run.numbers.tolist()) - numbers)}
    return written([kept.get(number, IndexEntry(number, {})) for number in run.numbers.tolist()])


def _occurrences(words: bytes, term: bytes) -> Iterator[int]:
    """Yield where a term begins, among terms with a blank after each."""
    if words.startswith(term + b" "):
        yield 0
    sought = b" " + term + b" "
    place = words.find(sought)
    while place >= 0:
        yield place + 1
        place = words.find(sought, place + 1)
