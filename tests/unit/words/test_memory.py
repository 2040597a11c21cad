"""The text index in memory: BM25 by the formula, entry by entry."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.jobs.faults import Refused
from querymill_workers.text import bm25
from querymill_workers.text.words import WORDS_VERSION, words
from querymill_workers.words.memory import MemoryWords
from querymill_workers.words.ports import WordUnit

_TEXTS = st.lists(st.sampled_from(["ship", "soup", "crew", "vtkActor", "渲染", "the"]), max_size=8).map(" ".join)


def index(texts: list[str]) -> MemoryWords:
    filled = MemoryWords()
    filled.put("c", "messages", [WordUnit(f"u{number}", text, "ab"[number % 2]) for number, text in enumerate(texts)])
    return filled


@given(texts=st.lists(_TEXTS, max_size=8), query=_TEXTS)
def test_every_entry_with_a_word_of_the_query_scores_by_the_formula(texts: list[str], query: str) -> None:
    counts = {f"u{number}": Counter(words(text)) for number, text in enumerate(texts)}
    asked = Counter(words(query))
    statistics = bm25.IndexStatistics(len(texts), sum(count.total() for count in counts.values()))
    terms = [
        bm25.QueryTerm(term, times, sum(term in count for count in counts.values())) for term, times in asked.items()
    ]
    expected = {
        id_: bm25.score(count, count.total(), terms=terms, statistics=statistics).score
        for id_, count in counts.items()
        if count.keys() & asked.keys()
    }
    hits = index(texts).search("c", "messages", query, limit=99)
    assert {hit.id: hit.score for hit in hits} == pytest.approx(expected)
    assert [hit.id for hit in hits] == sorted(expected, key=lambda id_: (-expected[id_], id_))


@given(texts=st.lists(_TEXTS, max_size=8), query=_TEXTS, limit=st.integers(-1, 9))
def test_a_limit_cuts_the_same_list(texts: list[str], query: str, limit: int) -> None:
    filled = index(texts)
    whole = filled.search("c", "messages", query, limit=99)
    assert filled.search("c", "messages", query, limit=limit) == whole[: max(limit, 0)]


def test_a_stale_index_names_itself_and_the_command_that_rebuilds_it() -> None:
    filled = index(["ship"])
    filled._spaces["c", "messages", WORDS_VERSION - 1] = filled._spaces.pop(("c", "messages", WORDS_VERSION))
    with pytest.raises(Refused) as refused:
        filled.search("c", "messages", "ship", limit=1)
    assert str(refused.value) == (
        "c/messages: the text index was built by another tokeniser version; run `querymill reindex`"
    )


def test_a_query_of_function_words_alone_asks_nothing_even_of_a_stale_index() -> None:
    filled = index(["ship"])
    filled._spaces["c", "messages", WORDS_VERSION - 1] = filled._spaces.pop(("c", "messages", WORDS_VERSION))
    assert filled.search("c", "messages", "the of and", limit=1) == []
