from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from querymill_workers.retrievers.conversations.rules import rank as conversation_rank
from querymill_workers.retrievers.conversations.rules.rank import RankParts, age_days, parts_of, rank, recency
from tests.fixtures.conversations import draft

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def test_a_rank_worked_out_by_hand() -> None:
    # 25 messages, 10 keywords, references that count 2.5, solved, 90 days old:
    # 0.2 × 0.5 + 0.2 × 0.5 + 0.3 × 0.5 + 0.2 × 1 + 0.1 × e⁻¹ = 0.55 + 0.0367879
    facts = replace(draft("s").facts, messages=25, keywords=10, solved=True)
    parts = parts_of(facts, 2.5)
    assert parts == RankParts(base=0.5, depth=0.5, reference=0.5, quality=1.0)
    assert rank(parts, 90) == pytest.approx(0.5867879, abs=1e-7)


def test_every_part_is_full_at_its_bound_and_not_above() -> None:
    assert [conversation_rank.base(messages) for messages in (0, 1, 50, 51)] == [0, 0.02, 1, 1]
    assert [conversation_rank.depth(keywords) for keywords in (0, 1, 20, 99)] == [0, 0.05, 1, 1]
    assert [conversation_rank.reference(count) for count in (0, 0.5, 5, 7.5)] == [0, 0.1, 1, 1]
    assert (conversation_rank.quality(solved=True), conversation_rank.quality(solved=False)) == (1.0, 0.5)


def test_the_highest_rank_is_1_and_the_lowest_is_what_an_unsolved_problem_leaves() -> None:
    assert rank(RankParts(1, 1, 1, 1), 0) == pytest.approx(1)
    assert rank(RankParts(0, 0, 0, 0.5), 1e9) == pytest.approx(0.1)


def test_90_days_is_the_time_constant_and_62_point_4_the_half_life() -> None:
    assert recency(90) == pytest.approx(0.367879, abs=1e-6)
    assert recency(62.383) == pytest.approx(0.5, abs=1e-5)


def test_a_moment_in_the_future_is_0_days_old() -> None:
    assert age_days(NOW + timedelta(days=3), NOW) == 0
    assert age_days(NOW - timedelta(days=1, hours=12), NOW) == 1.5
