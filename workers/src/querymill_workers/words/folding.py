"""Fold runs into blocks: gather the postings of each term, and tell what is to leave the blocks."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from querymill_shared.values import value
from querymill_workers.words.runs import POSTING, Numbers, Run

#: A block that has so many postings is full. Smaller ones fit into a page beside others, so filling them is cheap.
BLOCK_POSTINGS: Final = 112
#: A full block that lost entries until it has fewer is filled again.
FEW_POSTINGS: Final = 28


@value
class PostingBatch:
    """Postings of one term, to be added to its blocks or to stand in place of one."""

    n: int
    first: int
    last: int
    postings: bytes


@value
class Folded:
    """What runs change.

    Attributes:
        added: By term, its new postings.
        leaving: By term, the numbers of entries whose postings are to leave its blocks.
        gone: The numbers of all entries that are gone, in blocks or only in these runs.
        units: Entries added, less those that leave.
        length: Their words.
        postings: Their terms.
    """

    added: Mapping[str, PostingBatch]
    leaving: Mapping[str, Numbers]
    gone: Numbers
    units: int
    length: int
    postings: int


def fold(tail: Run) -> Folded:
    """Gather the postings of runs by term. Entries that come and go within the runs leave nothing."""
    numbers, signs = tail.numbers, tail.signs
    gone = numbers[signs < 0]
    stays = (signs > 0) & ~np.isin(numbers, gone)
    leaves = (signs < 0) & ~np.isin(numbers, numbers[signs > 0])
    places: dict[str, int] = {}
    terms = np.array([places.setdefault(term, len(places)) for term in tail.spelled()], np.int64)
    names = list(places)
    postings, rows = tail.all_postings()
    added, leaving = {}, {}
    for place, part in _parts(terms, postings, stays[rows]):
        added[names[place]] = batch_of(part)
    for place, part in _parts(terms, postings, leaves[rows]):
        leaving[names[place]] = np.sort(part["number"].astype(np.int64))
    return Folded(
        added, leaving, gone, tail.units, tail.length, int((tail.signs * tail.rows["terms"]).sum())
    )  # fmt: skip


def batch_of(postings: np.ndarray) -> PostingBatch:
    """Describe postings."""
    numbers = postings["number"]
    return PostingBatch(len(postings), int(numbers.min()), int(numbers.max()), postings.tobytes())


def left(block: bytes, leaving: Numbers) -> PostingBatch | None:
    """Return what is left of a block when entries leave it; None if nothing is."""
    postings = np.frombuffer(block, POSTING)
    kept = postings[~np.isin(postings["number"], leaving)]
    return batch_of(kept) if len(kept) else None


def joined_batches(one: PostingBatch, other: PostingBatch | None) -> PostingBatch:
    """Put the postings of two batches together."""
    if other is None:
        return one
    return PostingBatch(
        one.n + other.n, min(one.first, other.first), max(one.last, other.last), one.postings + other.postings
    )


def _parts(terms: Numbers, postings: np.ndarray, chosen: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Divide the chosen postings by term."""
    terms, postings = terms[chosen], postings[chosen]
    if not len(terms):
        return []
    order = np.argsort(terms, kind="stable")
    terms, postings = terms[order], postings[order]
    starts = np.flatnonzero(np.concatenate([[True], terms[1:] != terms[:-1]]))
    return list(zip(terms[starts].tolist(), np.split(postings, starts[1:]), strict=True))
