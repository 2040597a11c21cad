"""How many terms a query reads whole: the arithmetic of MaxScore, without a server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.text import bm25
from querymill_workers.words.postgres import CHEAP_POSTINGS, ROUNDING, _CountedQuery


def counted(*terms: tuple[float, int], units: int = 100_000) -> _CountedQuery:
    """Build a query of terms, each with its weight and its postings."""
    ordered = sorted(terms, reverse=True)
    return _CountedQuery(
        number=7,
        statistics=bm25.Statistics(units=units, length=4 * units),
        terms=tuple(bm25.QueryTerm(f"t{place}", 1, df) for place, (_, df) in enumerate(ordered)),
        weights=tuple(weight for weight, _ in ordered),
        groups=None,
    )


def test_a_rare_term_that_sets_the_bar_spares_reading_the_frequent_ones() -> None:
    query = counted((9.0, 10), (0.5, 30_000), (0.3, 90_000))
    assert query.cheap() == 1
    assert query.enough(4.0) == 1  # 0.5 + 0.3 cannot reach 4
    assert query.enough(0.7) == 2  # 0.3 cannot reach 0.7, but 0.5 + 0.3 can
    assert query.enough(0.2) == 3  # every term alone may reach the bar


def test_all_terms_are_read_whole_where_looking_them_up_costs_more() -> None:
    assert counted((9.0, 10_000), (0.5, 11_000)).enough(4.0) == 2
    assert counted((9.0, 1_000), (0.5, 11_000)).enough(4.0) == 1


def test_terms_with_few_postings_in_total_are_read_without_a_bar() -> None:
    assert counted((9.0, 1_000), (8.0, 1_000), (0.5, 1)).cheap() == 2
    assert counted((9.0, CHEAP_POSTINGS + 1), (0.5, 1)).cheap() == 1


def test_the_statements_get_the_leading_terms_and_what_the_others_can_add() -> None:
    values = counted((9.0, 10), (0.5, 50_000), (0.25, 90_000)).values(1, 10)
    assert (values["number"], values["limit"], values["groups"]) == (7, 10, None)
    assert (values["terms"], values["leading"], values["other"]) == (["t0", "t1", "t2"], ["t0"], ["t1", "t2"])
    assert (values["weights"], values["other_weights"]) == ([9.0], [0.5, 0.25])
    assert values["slack"] == 0.75 + ROUNDING
    assert values["base"] == pytest.approx(1.2 * 0.25)
    assert values["slope"] == pytest.approx(1.2 * 0.75 / 4)


_TERMS = st.lists(st.tuples(st.floats(0.01, 30), st.integers(1, 10**6)), min_size=1, max_size=8)


@given(_TERMS, st.floats(0, 100))
def test_no_entry_without_a_leading_term_can_reach_the_bar(terms: list[tuple[float, int]], bar: float) -> None:
    query = counted(*terms, units=10**6)
    leading = query.enough(bar)
    assert 0 <= leading <= len(terms)
    if leading < len(terms):
        assert sum(query.weights[leading:]) < bar + ROUNDING


@given(_TERMS)
def test_the_cheap_terms_are_at_least_one_and_cheap_together(terms: list[tuple[float, int]]) -> None:
    query = counted(*terms, units=10**6)
    cheap = query.cheap()
    assert 1 <= cheap <= len(terms)
    assert cheap == 1 or sum(term.df for term in query.terms[:cheap]) <= CHEAP_POSTINGS


@given(_TERMS, st.floats(0, 50), st.floats(0, 50))
def test_a_higher_bar_never_reads_more_terms_unless_it_is_cheaper(
    terms: list[tuple[float, int]], bar: float, more: float
) -> None:
    query = counted(*terms, units=10**6)
    low, high = query.enough(bar), query.enough(bar + more)
    assert high <= low or high == len(terms)
