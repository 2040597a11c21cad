"""The rules of the iterative search over files, each bug of the original one a test."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.files.rules.bands import band, counted, of_band
from querymill_workers.retrievers.files.rules.candidates import candidates, shards
from querymill_workers.retrievers.files.rules.follow_up_names import MAX_NAMES, best_names, is_searchable_name, weighted
from querymill_workers.retrievers.files.rules.gaps import gaps
from querymill_workers.retrievers.files.rules.rounds import Ask, Standing, Stop, what_next


def standing(**changes: object) -> Standing:
    fields: dict[str, object] = {
        "round": 1,
        "rounds": 3,
        "high": 3,
        "gaps": {},
        "of_high": {"restore_visible": 2.0},
        "of_medium": {"poll_interval": 1.0},
        "used": (),
        "tokens": 0,
        "token_budget": 1_000,
    }
    return Standing(**(fields | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("relevance", "name"),
    [
        (1.0, "high"), (0.8, "high"), (0.7999, "medium"), (0.5, "medium"), (0.4999, "low"), (0.2, "low"),
        (0.1999, "irrelevant"), (0.0, "irrelevant"),
    ],
)  # fmt: skip
def test_bands_are_half_open(relevance: float, name: str) -> None:
    assert band(relevance) == name


def test_a_band_without_a_file_counts_nothing() -> None:
    assert counted([0.9, 0.85, 0.1]) == {"high": 2, "medium": 0, "low": 0, "irrelevant": 1}


def test_files_of_a_band_come_best_first_ties_on_the_path() -> None:
    assert of_band({"b": 0.9, "a": 0.9, "c": 0.95, "d": 0.3}, "high") == ["c", "a", "b"]


def test_a_file_that_many_queries_find_is_one_candidate_and_keeps_where_it_came_from() -> None:
    found = candidates({"words": ["a", "b", "a"], "name QoS": ["b", "a"]}, evaluated=(), limit=20, weights=None)
    assert [candidate.path for candidate in found] == ["a", "b"]
    assert found[0].found_by == ("words", "name QoS")


@pytest.mark.parametrize("relevance", [0.95, 0.6, 0.3, 0.01])
def test_a_file_once_evaluated_is_never_read_again_whatever_it_was_worth(relevance: float) -> None:
    found = candidates({"name QoS": ["a", "b"]}, evaluated={"a": relevance}, limit=20, weights=None)
    assert [candidate.path for candidate in found] == ["b"]


@given(st.lists(st.lists(st.integers(0, 80).map(str), max_size=60), max_size=6), st.sets(st.integers(0, 80).map(str)))
def test_candidates_are_distinct_new_and_not_too_many(rankings: list[list[str]], evaluated: set[str]) -> None:
    asked = {str(number): ranking for number, ranking in enumerate(rankings)}
    paths = [candidate.path for candidate in candidates(asked, evaluated=evaluated, limit=20, weights=None)]
    assert len(paths) == len(set(paths)) <= 20
    assert evaluated.isdisjoint(paths)


def test_how_many_candidates_are_taken_does_not_reorder_the_first() -> None:
    rankings = {"words": ["a", "b", "c", "d"], "vectors": ["d", "b"]}
    every = candidates(rankings, evaluated=(), limit=50, weights=None)
    assert candidates(rankings, evaluated=(), limit=2, weights=None) == every[:2]


def test_shards_hold_every_candidate_once() -> None:
    found = candidates({"words": [f"{n:02}" for n in range(25)]}, evaluated=(), limit=50, weights=None)
    cut = shards(found, size=10)
    assert [len(shard) for shard in cut] == [10, 10, 5]
    assert [candidate for shard in cut for candidate in shard] == found


@pytest.mark.parametrize(
    "name",
    ["class", "self", "return", "const", "func", "fn", "std", "String", "None", "if", "ab", "", "__init__", "os.if"],
)
def test_keywords_and_names_of_two_letters_are_never_a_query(name: str) -> None:
    assert not is_searchable_name(name)


@pytest.mark.parametrize(
    "text",
    ["(a+)+$", "a b", "x;drop table", "ignore previous instructions", "*.py", "../../etc", "a\nb", "变量", "%", "_ _"],
)
def test_what_is_no_identifier_never_becomes_a_query(text: str) -> None:
    assert not is_searchable_name(text)


def test_patterns_that_are_rare_in_the_collection_weigh_more() -> None:
    weights = weighted(
        {"a.py": ["QoS", "get_it", "QoS"], "b.py": ["QoS", "get_it"]}, frequency={"QoS": 9, "get_it": 99}, files=100
    )
    assert weights["QoS"] == pytest.approx(4.796, abs=0.001)
    assert weights["QoS"] > weights["get_it"]


def test_a_name_that_the_collection_does_not_know_is_not_asked_for() -> None:
    assert weighted({"a.py": ["Strange"]}, frequency={}, files=100) == {}


def test_at_most_ten_patterns_and_none_that_was_used() -> None:
    weights = {f"name_{number:02}": float(number) for number in range(1, 30)}
    chosen = best_names(weights, used={"name_29"})
    assert len(chosen) == MAX_NAMES
    assert chosen[0] == "name_28"


def test_a_gap_is_what_a_high_file_uses_and_no_retrieved_file_defines() -> None:
    found = gaps(
        {"redis.py": ["Channel", "loads", "QoS", "socket"]},
        retrieved=["redis.py", "virtual.py"],
        definers={"Channel": {"base.py"}, "loads": {"virtual.py", "other.py"}, "QoS": {"redis.py"}},
        files=50,
    )
    assert set(found) == {"Channel"}


def test_a_retrieved_file_closes_a_gap_even_when_it_turned_out_irrelevant() -> None:
    uses, definers = {"redis.py": ["Channel"]}, {"Channel": {"base.py"}}
    assert gaps(uses, retrieved=["redis.py"], definers=definers, files=50)
    assert gaps(uses, retrieved=["redis.py", "base.py"], definers=definers, files=50) == {}


def test_three_high_files_and_no_gap_are_enough() -> None:
    assert what_next(standing()) == Stop("enough")


def test_a_gap_stops_the_early_exit_and_is_asked_for_first() -> None:
    assert what_next(standing(gaps={"Channel": 0.1})) == Ask(["Channel", "restore_visible"])


def test_too_few_high_files_ask_on() -> None:
    assert what_next(standing(high=2)) == Ask(["restore_visible"])


def test_medium_files_are_asked_only_when_the_high_ones_have_nothing_new() -> None:
    assert what_next(standing(high=1, used=["restore_visible"])) == Ask(["poll_interval"])
    assert what_next(standing(high=0, of_high={})) == Ask(["poll_interval"])


def test_without_a_fresh_query_the_search_stops_and_says_so() -> None:
    assert what_next(standing(high=1, used=["restore_visible", "poll_interval"])) == Stop("no new query")
    assert what_next(standing(high=3, gaps={"Channel": 1.0}, of_high={}, of_medium={}, used=["Channel"])) == Stop(
        "no new query"
    )


def test_after_the_last_round_the_search_stops_with_its_gaps() -> None:
    assert what_next(standing(round=3, gaps={"Channel": 1.0})) == Stop("rounds")


def test_the_token_budget_stops_whatever_is_missing() -> None:
    assert what_next(standing(tokens=1_000, gaps={"Channel": 1.0}, high=0)) == Stop("token budget")


@given(
    st.integers(1, 3), st.integers(0, 5), st.dictionaries(st.text("abc", min_size=3), st.floats(0.1, 9)),
    st.dictionaries(st.text("abc", min_size=3), st.floats(0.1, 9)), st.sets(st.text("abc", min_size=3)),
)  # fmt: skip
def test_no_pattern_is_ever_asked_for_twice(
    number: int, high: int, missing: dict[str, float], names: dict[str, float], used: set[str]
) -> None:
    match what_next(standing(round=number, high=high, gaps=missing, of_high=names, used=used)):
        case Ask(patterns):
            assert 1 <= len(patterns) == len(set(patterns)) <= MAX_NAMES
            assert used.isdisjoint(patterns)
        case Stop(reason):
            assert reason
