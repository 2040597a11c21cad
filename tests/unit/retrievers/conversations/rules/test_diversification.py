"""Diversification: an example by hand, and what holds for every list."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.conversations.rules.diversification import (
    AGES,
    PICK_FLOOR,
    Age,
    Ranked,
    age_of,
    diversify,
    flat_from,
)


def one(session_id: str, score: float, age: Age = "older", topic: str | None = None) -> Ranked:
    return Ranked(session_id, score, age, topic)


def test_the_four_steps_by_hand() -> None:
    ranking = [
        one("a", 1.0, topic="cache"), one("b", 0.9, topic="cache"), one("c", 0.8, topic="cache"),
        one("d", 0.75, topic="cache"),  # the best that is left of the older ones
        one("e", 0.6, topic="cache"),
        one("f", 0.5, "week", topic="retry"),  # of this week
        one("g", 0.45, "week", topic="proxy"),  # the week has its one; a topic nobody has
        one("h", 0.4, "today", topic="cache"),  # of today
        one("i", 0.35, topic="retry"),
        one("j", 0.29, "month", topic="layout"),  # of this month, but below 0.3 of the best
    ]  # fmt: skip
    assert [(place.session_id, place.step, place.reason) for place in diversify(ranking, top_n=10)] == [
        ("a", "relevance", None), ("b", "relevance", None), ("c", "relevance", None),
        ("h", "age", "today"), ("f", "age", "week"), ("d", "age", "older"),
        ("g", "topic", "proxy"),
        ("e", "order", None), ("i", "order", None), ("j", "order", None),
    ]  # fmt: skip


def test_a_list_that_falls_is_left_in_its_order() -> None:
    assert flat_from([1.0, 0.9, 0.8, 0.5, 0.46, 0.4]) == 4
    assert (flat_from([1.0, 1.0, 1.0, 1.0]), flat_from([1.0, 0.5, 0.2, 0.1]), flat_from([])) == (3, 4, 0)
    ranking = [one("a", 1.0), one("b", 0.9), one("c", 0.8), one("d", 0.5), one("e", 0.46), one("f", 0.4, "today")]
    assert [(place.session_id, place.step) for place in diversify(ranking, top_n=6)] == [
        ("a", "relevance"), ("b", "relevance"), ("c", "relevance"), ("d", "relevance"), ("f", "age"), ("e", "age"),
    ]  # fmt: skip


def test_the_list_is_cut_to_top_n() -> None:
    ranking = [one(name, 1.0) for name in "abcdef"]
    assert [place.session_id for place in diversify(ranking, top_n=2)] == ["a", "b"]
    assert diversify([], top_n=10) == []


def test_an_age_ends_where_the_next_begins() -> None:
    now = datetime(2026, 5, 20, 10, 30, tzinfo=UTC)
    assert [age_of(now - timedelta(days=days), now=now, zone=UTC) for days in (-2, 0, 0.43, 0.44, 7, 7.01, 30, 31)] == [
        "today", "today", "today", "week", "week", "month", "month", "older",
    ]  # fmt: skip


def test_today_is_the_calendar_day_of_who_asks() -> None:
    evening, now = datetime(2026, 5, 20, 15, tzinfo=UTC), datetime(2026, 5, 20, 17, tzinfo=UTC)
    assert age_of(evening, now=now, zone=UTC) == "today"
    assert age_of(evening, now=now, zone=ZoneInfo("Asia/Shanghai")) == "week"  # 23:00, and it is 01:00


def test_a_day_of_25_hours_is_one_day() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    morning, night = datetime(2026, 10, 25, 0, 10, tzinfo=berlin), datetime(2026, 10, 25, 23, 50, tzinfo=berlin)
    assert age_of(morning, now=night.astimezone(UTC), zone=berlin) == "today"


rankings = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from(AGES), st.sampled_from(["cache", "retry", "proxy", None])), max_size=40
).map(
    lambda rows: [
        Ranked(f"s{number}", score, age, topic)
        for number, (score, age, topic) in enumerate(sorted(rows, key=lambda row: -row[0]))
    ]
)


@given(rankings, st.integers(1, 50))
def test_every_list_is_full_without_repetition_and_says_why(ranking: list[Ranked], top_n: int) -> None:
    placed = diversify(ranking, top_n=top_n)
    ids = [place.session_id for place in placed]
    assert len(ids) == len(set(ids)) == min(top_n, len(ranking))
    assert ids[:3] == [one.session_id for one in ranking[: min(3, top_n)]]
    steps = [place.step for place in placed]
    assert steps == sorted(steps, key=["relevance", "age", "topic", "order"].index)


@given(rankings)
def test_picks_reach_the_floor_and_are_the_first_of_their_kind(ranking: list[Ranked]) -> None:
    by_id = {one.session_id: one for one in ranking}
    placed = diversify(ranking, top_n=len(ranking) + 1)
    picks = [place for place in placed if place.step in {"age", "topic"}]
    assert all(by_id[pick.session_id].score >= PICK_FLOOR * ranking[0].score for pick in picks)
    assert len({(pick.step, pick.reason) for pick in picks}) == len(picks)
    rest = [by_id[place.session_id].score for place in placed if place.step == "order"]
    assert rest == sorted(rest, reverse=True)
