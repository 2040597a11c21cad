"""The decision after a round, each bug of the original one a test."""

from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.files.rules.follow_up_names import MAX_NAMES
from querymill_workers.retrievers.files.rules.rounds import Ask, RoundState, Stop, what_next


def standing(**changes: object) -> RoundState:
    fields: dict[str, object] = {
        "round": 1,
        "rounds": 3,
        "high": 3,
        "added": 1,
        "gaps": {},
        "of_high": {"restore_visible": 2.0},
        "of_medium": {"poll_interval": 1.0},
        "used": (),
        "tokens": 0,
        "token_budget": 1_000,
    }
    return RoundState(**(fields | changes))  # type: ignore[arg-type]


def test_three_high_files_and_no_gap_are_enough() -> None:
    assert what_next(standing()) == Stop("enough")


def test_a_gap_stops_the_early_exit_and_is_asked_for_first() -> None:
    assert what_next(standing(gaps={"Channel": 0.1})) == Ask(["Channel", "restore_visible"])


def test_a_later_round_that_added_nothing_ends_the_search() -> None:
    assert what_next(standing(round=2, high=1, added=0)) == Stop("nothing added")
    assert what_next(standing(round=1, high=1, added=0)) == Ask(["restore_visible"])


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
