"""Runs in columns: what is written is read, whatever the words."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.words.runs import RUN_ENTRIES, RUN_TERMS, IndexEntry, Run, packed, without, written

_COUNTS = st.dictionaries(st.sampled_from(["ship", "ships", "hip", "渲染", "a.b", "é"]), st.integers(1, 70_000))
_ENTRIES = st.lists(_COUNTS, max_size=6).map(
    lambda counts: [IndexEntry(number << 33, count) for number, count in enumerate(counts)]
)


def joined(*runs: Run) -> Run:
    return Run(*(b"".join(getattr(run, name) for run in runs) for name in ("entries", "words", "tfs")))


@given(new=_ENTRIES, gone=_ENTRIES)
def test_runs_joined_end_to_end_read_as_one(new: list[IndexEntry], gone: list[IndexEntry]) -> None:
    run = joined(written(new), written(gone, sign=-1))
    assert (run.units, run.length) == (len(new) - len(gone), sum(e.length for e in new) - sum(e.length for e in gone))
    assert run.gone.tolist() == [entry.number for entry in gone]
    for term in ("ship", "ships", "hip", "渲染", "unknown"):
        postings, signs = run.postings_of(term)
        found = [(*posting, sign) for posting, sign in zip(postings.tolist(), signs.tolist(), strict=True)]
        assert found == [
            (entry.number, entry.length, entry.counts[term], sign)
            for entries, sign in ((new, 1), (gone, -1))
            for entry in entries
            if term in entry.counts
        ]


@given(entries=_ENTRIES, data=st.data())
def test_nothing_but_the_place_is_left_of_what_is_gone(entries: list[IndexEntry], data: st.DataObject) -> None:
    numbers = [entry.number for entry in entries]
    gone = data.draw(st.sets(st.sampled_from(numbers))) if numbers else set()
    left = without(written(entries), gone)
    assert left.numbers.tolist() == numbers
    chosen = {entry.number: dict(entry.counts) for entry in left.chosen(numbers)}
    assert chosen == {entry.number: {} if entry.number in gone else dict(entry.counts) for entry in entries}


@given(st.lists(st.integers(0, 2 * RUN_TERMS), max_size=400))
def test_runs_are_packed_in_order_within_their_bounds(sizes: list[int]) -> None:
    parts = packed(sizes)
    assert [place for part in parts for place in part] == list(range(len(sizes)))
    for part in parts:
        assert len(part) <= RUN_ENTRIES
        assert len(part) == 1 or sum(sizes[place] for place in part) <= RUN_TERMS


def test_terms_that_follow_each_other_are_all_found() -> None:
    run = written(
        [IndexEntry(1, Counter(["ship"])), IndexEntry(2, Counter(["ship"])), IndexEntry(3, Counter(["ship", "shi"]))]
    )
    assert run.postings_of("ship")[0]["number"].tolist() == [1, 2, 3]
    assert run.postings_of("shi")[0]["number"].tolist() == [3]
