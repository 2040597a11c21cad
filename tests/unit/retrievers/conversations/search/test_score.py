"""Ranking the candidates of a search."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from querymill_shared.contracts.conversations.search import ConversationSearch, Understanding
from querymill_shared.contracts.sessions import ChatMessage, ChatSession
from querymill_workers.retrievers.conversations.ports.caches import CachedSearch
from querymill_workers.retrievers.conversations.rules.session_hits import SessionHit
from querymill_workers.retrievers.conversations.search.score import fetch_sessions, score_sessions
from querymill_workers.retrievers.conversations.search.understand import ConversationQuestion, understand_question
from querymill_workers.retrievers.conversations.write.derived import prepare_session
from tests.fixtures.world import World

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)
PLAIN = Understanding(searched="ships", intent="recap", importance=0.0, mode="normal", keywords=())


def put(world: World, session_id: str, *texts: str, days: float = 0, name: str | None = None) -> None:
    at = NOW - timedelta(days=days)
    messages = tuple(ChatMessage(text=text, created_at=at) for text in texts)
    session = ChatSession(session_id=session_id, name=name, started_at=at, messages=messages)
    known = world.conversations.stored("talks", session_id)
    prepared = prepare_session(session, world.ports.technical_keywords)
    world.conversations.put("talks", prepared, replacing=None if known is None else known.revision)


def ask(world: World, **fields: Any) -> ConversationQuestion:
    request = ConversationSearch.model_validate({"collection": "talks", "query": "ships"} | fields)
    return understand_question(request, NOW, world.ports)


def rank(world: World, hits: dict[str, float], **fields: Any) -> dict[str, float]:
    recalled = CachedSearch(PLAIN, "ships", tuple(SessionHit(id_, score) for id_, score in hits.items()))
    scored = score_sessions(ask(world, **fields), recalled, (), world.ports)
    return {candidate.hit.id: candidate.final.score for candidate in scored.by_words}


def test_relevance_is_a_share_of_the_best_candidate(world: World) -> None:
    for name in "abc":
        put(world, name, "ships")
    assert rank(world, {"a": 2.0, "b": 8.0, "c": 4.0}, scoring="bm25") == {"b": 1.0, "c": 0.5, "a": 0.25}


def test_candidates_of_equal_score_are_ordered_by_id(world: World) -> None:
    for name in "cab":
        put(world, name, "ships")
    assert list(rank(world, dict.fromkeys("bca", 3.0))) == ["a", "b", "c"]


def test_a_dropped_session_is_no_candidate_and_sets_no_measure(world: World) -> None:
    put(world, "a", "ships")
    assert rank(world, {"gone": 9.0, "a": 3.0}, scoring="bm25") == {"a": 1.0}
    assert rank(world, {"gone": 9.0}) == {}
    assert rank(world, {}) == {}
    assert rank(world, {"a": 0.0}) == {}


def test_a_score_by_hand(world: World) -> None:
    # 1 message: base 0.02; no keyword, no reference; unsolved: quality 0.5; today: recency 1.
    # rank = 0.2 × 0.02 + 0.2 × 0.5 + 0.1 = 0.204; bounded with 0.2, 0.1 and 1.2 in the current session:
    # 1 × (1 + 0.2 (0.204 − 0.5)) × (1 + 0.1 (1 − 0.5)) × min(2, 1.2) = 0.9408 × 1.05 × 1.2
    put(world, "a", "ships")
    assert rank(world, {"a": 5.0}, current_session="a") == {"a": pytest.approx(0.9408 * 1.05 * 1.2)}
    # The product: 1 × 0.204 × 1 × 1.5
    assert rank(world, {"a": 5.0}, scoring="product", recent_sessions=["a"]) == {"a": pytest.approx(0.306)}


def test_without_swings_bounded_is_relevance_alone(world: World) -> None:
    put(world, "a", "ships", days=300)
    put(world, "b", "ships", days=1)
    hits = {"a": 4.0, "b": 3.0}
    alone = rank(world, hits, scoring="bm25")
    assert rank(world, hits, rank_swing=0, decay_swing=0, context_cap=1, current_session="b") == pytest.approx(alone)


def test_a_session_is_described_once_for_each_generation(world: World) -> None:
    put(world, "a", "the cache", name="Harbour")
    first = fetch_sessions(ask(world), ["a", "gone"], world.ports)
    assert (list(first), first["a"].topic, first["a"].name) == (["a"], "cache", "Harbour")
    stored = dict(world.conversations.prepared)
    world.conversations.prepared.clear()  # behind the back of the cache: the generation stands
    assert fetch_sessions(ask(world), ["a"], world.ports) == first
    world.conversations.prepared.update(stored)
    put(world, "a", "the proxy", name="Gate")
    assert fetch_sessions(ask(world), ["a"], world.ports)["a"].topic == "proxy"


@pytest.mark.parametrize(
    ("name", "opening", "topic"),
    [("About the proxy", "the cache", "proxy"), (None, "the cache", "cache"), ("Tuesday", "soup", None)],
)
def test_a_topic_is_of_the_name_or_else_of_the_first_message(
    world: World, name: str | None, opening: str, topic: str | None
) -> None:
    put(world, "a", opening, "the database", name=name)
    assert fetch_sessions(ask(world), ["a"], world.ports)["a"].topic == topic
