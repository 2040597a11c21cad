"""Searches before and after are compared, in figures and in words."""

from typing import Any

import pydantic
import pytest

from querymill import ReportSearch, Search
from querymill_evaluation.recordings import SearchOutcome
from querymill_evaluation.replays import (
    NoSuchField,
    ReplayedSearch,
    as_figures,
    compare_searches,
    in_words,
    overlap,
    shift,
    with_options,
)


def outcome(*found: str, **taken: Any) -> SearchOutcome:
    return SearchOutcome.model_validate({"found": found, "ms": 40.0} | taken)


def test_the_share_that_two_rankings_have_in_common() -> None:
    assert overlap(["a", "b", "c"], ["b", "a", "d"]) == pytest.approx(2 / 3)
    assert overlap(["a", "b"], ["a"]) == 0.5
    assert overlap([], []) == 1.0
    assert overlap([], ["a"]) == 0.0


def test_by_how_many_ranks_the_common_hits_moved() -> None:
    assert shift(["a", "b", "c"], ["b", "a", "d"]) == 1.0
    assert shift(["a", "b", "c"], ["a", "c", "b"]) == pytest.approx(2 / 3)
    assert shift(["a"], ["b"]) is None


def test_options_are_other_fields_of_a_search() -> None:
    asked = ReportSearch(query="ships?", collection="filings", top_n=5)
    changed = with_options(asked, {"top_n": 20, "hyde": True})
    assert isinstance(changed, ReportSearch)
    assert (changed.query, changed.top_n, changed.hyde) == ("ships?", 20, True)
    with pytest.raises(NoSuchField, match=r"hyde: is no field of a search of kind 'search'"):
        with_options(Search(query="ships?"), {"hyde": True})
    with pytest.raises(pydantic.ValidationError):
        with_options(asked, {"top_n": 0})


def test_a_slower_run_that_ranks_better_is_called_both() -> None:
    pairs = [
        ReplayedSearch(f"q{number:02}", outcome("x", "right"), outcome("right", "x", ms=80.0, tokens=6, calls=1),
                       {"right": 1})
        for number in range(20)
    ]  # fmt: skip
    found = compare_searches(pairs)
    figures = as_figures(found)
    assert figures["overlap@10"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert (figures["same_first"], figures["ranks_moved"], figures["judged"]) == (0, 1.0, 20)
    assert figures["speed"]["ratio"] == {"p50": 2.0, "p95": 2.0}
    assert figures["tokens"] == {"before": 0.0, "after": 6.0, "difference": {"mean": 6.0, "low": 6.0, "high": 6.0}}
    assert figures["ndcg@10"]["difference"]["low"] > 0
    assert "cost" not in figures
    assert list(in_words(found)) == [
        "Hits: 100.0% of the first 10 are the same (95 % interval 100.0% to 100.0%), and the best hit is the same for 0"
        " of 20 searches. What both found moved by 1.0 ranks on the average.",
        "Time: median 40 ms, then 80 ms (× 2.00); 95th percentile 40 ms, then 80 ms (× 2.00).",
        "A search takes +40.0 ms, 95 % interval +40.0 to +40.0.",
        "Models: 0.00 calls and 0 tokens a search, then 1.00 and 6.",
        "nDCG@10 of 20 judged searches: 0.631, then 1.000; difference +0.369, 95 % interval +0.369 to +0.369: better.",
    ]


def test_what_nobody_judged_is_not_called_better_and_what_changed_most_is_named() -> None:
    priced = {"cost_nanos": 24_000_000, "currency": "USD"}
    pairs = [
        ReplayedSearch("same", outcome("a", "b", **priced), outcome("a", "b", **priced)),
        ReplayedSearch("other", outcome("a", "b", **priced), outcome("c", "d", cost_nanos=0)),
        ReplayedSearch("half", outcome("a", "b", **priced), outcome("a", "c", cost_nanos=0)),
    ]
    found = compare_searches(pairs)
    words = list(in_words(found))
    assert "best hit is the same for 2 of 3 searches" in words[0]
    assert words[-3] == "Cost: USD 0.024 a search, then USD 0.008."
    assert words[-2] == "Nobody has judged the hits of these searches, so which run is better is not known."
    assert words[-1] == "Changed most: other, half."
    assert as_figures(found)["cost"]["before"] == pytest.approx(0.024)


def test_there_must_be_something_to_compare() -> None:
    with pytest.raises(ValueError, match="at least one search"):
        compare_searches([])
