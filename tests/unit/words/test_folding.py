"""Folding runs into postings by term, and taking entries out of blocks, without a server."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.words.folding import fold, joined_batches, left
from querymill_workers.words.runs import IndexEntry, Run, written
from querymill_workers.words.scores import PostingBlock, Snapshot, best, dfs

_TERMS = ["ship", "soup", "crew"]
_ENTRIES = st.lists(st.lists(st.sampled_from(_TERMS), max_size=6).map(Counter), max_size=8).map(
    lambda counts: [IndexEntry(number, count) for number, count in enumerate(counts)]
)
_EMPTY = Run(b"", b"", b"")


def joined(*runs: Run) -> Run:
    return Run(*(b"".join(getattr(run, name) for run in runs) for name in ("entries", "words", "tfs")))


@given(entries=_ENTRIES, later=_ENTRIES, data=st.data())
def test_a_search_cannot_tell_what_is_folded(
    entries: list[IndexEntry], later: list[IndexEntry], data: st.DataObject
) -> None:
    later = [IndexEntry(entry.number + 100, entry.counts) for entry in later]
    numbers = [entry.number for entry in (*entries, *later)]
    gone = data.draw(st.sets(st.sampled_from(numbers))) if numbers else set()
    first, second = written(entries), written(later)
    buried = written([entry for entry in (*entries, *later) if entry.number in gone], sign=-1)
    fresh = Snapshot(0, 0, joined(first, second, buried))

    half = fold(first)
    blocks = {term: PostingBlock(batch.n, batch.postings) for term, batch in half.added.items()}
    folded = Snapshot(half.units, half.length, joined(second, buried), blocks)

    rest = fold(joined(second, buried))
    added = dict(rest.added)
    for term, block in blocks.items():
        kept = left(block.postings, rest.leaving[term]) if term in rest.leaving else left(block.postings, rest.gone[:0])
        if kept is not None:
            added[term] = joined_batches(kept, added.get(term))
    whole = Snapshot(
        half.units + rest.units, half.length + rest.length, _EMPTY,
        {term: PostingBlock(batch.n, batch.postings) for term, batch in added.items()},
    )  # fmt: skip
    asked = {"ship": 2, "soup": 1}
    expected = sorted(best(fresh, asked, limit=3), key=lambda match: match.number)
    for snapshot in (folded, whole):
        assert dfs(snapshot, _TERMS) == dfs(fresh, _TERMS)
        assert sorted(best(snapshot, asked, limit=3), key=lambda match: match.number) == expected
    assert half.postings + rest.postings == sum(batch.n for batch in added.values())


def test_what_comes_and_goes_within_the_runs_leaves_nothing() -> None:
    entry = IndexEntry(7, Counter(["ship"]))
    folded = fold(joined(written([entry]), written([entry], sign=-1)))
    assert (folded.added, folded.leaving, folded.units, folded.postings) == ({}, {}, 0, 0)
    assert folded.gone.tolist() == [7]


def test_a_block_that_all_entries_leave_is_none() -> None:
    batch = fold(written([IndexEntry(1, Counter(["ship"])), IndexEntry(2, Counter(["ship"]))])).added["ship"]
    leaving = fold(written([IndexEntry(1, Counter(["ship"]))], sign=-1)).leaving["ship"]
    kept = left(batch.postings, leaving)
    assert kept is not None
    assert (kept.n, kept.first, kept.last) == (1, 2, 2)
    assert left(kept.postings, fold(written([IndexEntry(2, Counter(["ship"]))], sign=-1)).leaving["ship"]) is None
