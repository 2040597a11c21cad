"""Building the hits: their order, their best passages, and the numbers that they show."""

from datetime import UTC, datetime, timedelta
from math import prod
from typing import Any

import pytest

from querymill_shared.contracts.conversations.search import ConversationHit, ConversationSearch
from querymill_shared.contracts.sessions import ChatMessage, ChatSession
from querymill_workers.retrievers.conversations.ports.caches import CachedSearch
from querymill_workers.retrievers.conversations.ports.sessions import SPACE
from querymill_workers.retrievers.conversations.rules.best_passage import SNIPPET_LENGTH
from querymill_workers.retrievers.conversations.search.choose import ChosenSession, choose_hits, rank_sessions
from querymill_workers.retrievers.conversations.search.passages import find_passages
from querymill_workers.retrievers.conversations.search.recall import recall_candidates
from querymill_workers.retrievers.conversations.search.score import score_sessions
from querymill_workers.retrievers.conversations.search.show import show_hits
from querymill_workers.retrievers.conversations.search.understand import ConversationQuestion, understand_question
from querymill_workers.retrievers.conversations.write.derived import entries_of, prepare_session
from tests.fixtures.world import World

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)


def store(world: World, session_id: str, *texts: str, days: float = 1, name: str | None = None) -> None:
    """Store a session with its index entry; the messages of an odd place have an id."""
    at = NOW - timedelta(days=days)
    messages = tuple(
        ChatMessage(message_id=f"m{place}" if place % 2 else None, text=text, created_at=at)
        for place, text in enumerate(texts)
    )
    session = ChatSession(session_id=session_id, name=name, user_name="Ada", started_at=at, messages=messages)
    known = world.conversations.stored("talks", session_id)
    world.words.put("talks", SPACE, entries_of(session))
    prepared = prepare_session(session, world.ports.technical_keywords)
    world.conversations.put("talks", prepared, replacing=None if known is None else known.revision)


def request_of(query: str, **fields: Any) -> ConversationSearch:
    return ConversationSearch.model_validate({"collection": "talks", "query": query} | fields)


def choose(world: World, query: str, **fields: Any) -> tuple[ConversationQuestion, CachedSearch, list[ChosenSession]]:
    question = understand_question(request_of(query, **fields), NOW, world.ports)
    recalled = recall_candidates(question, world.ports)
    scored = score_sessions(question, recalled, (), world.ports)
    return question, recalled, choose_hits(question, rank_sessions(question, recalled, scored, ()))


def show(world: World, query: str, **fields: Any) -> list[ConversationHit]:
    question, recalled, chosen = choose(world, query, **fields)
    return show_hits(question.request, chosen, find_passages(question, recalled, chosen, world.conversations))


def test_a_hit_shows_the_session_and_the_message_its_snippet_is_of(world: World) -> None:
    store(world, "a", "soup", "the ships", name="Harbour")
    store(world, "b", "ships", "soup")
    hits = {hit.session_id: hit for hit in show(world, "ships")}
    assert (hits["a"].name, hits["a"].user_name, hits["a"].message_id, hits["a"].snippet) == (
        "Harbour", "Ada", "m1", "the ships",
    )  # fmt: skip
    assert hits["a"].marks == ((4, 9),)
    assert hits["a"].last_active == NOW - timedelta(days=1)
    assert hits["b"].message_id is None  # the message has none


def test_of_a_long_message_a_piece_is_shown_with_its_marks_in_place(world: World) -> None:
    store(world, "a", "tar " * 200 + "and the ships in the harbour " + "rope " * 200)
    (hit,) = show(world, "ships harbour")
    assert len(hit.snippet) == SNIPPET_LENGTH + 2
    assert (hit.snippet[0], hit.snippet[-1]) == ("…", "…")
    assert [hit.snippet[start:end] for start, end in hit.marks] == ["ships", "harbour"]


@pytest.mark.parametrize("scoring", ["product", "bounded", "bm25"])
def test_every_score_can_be_recomputed_from_its_explanation(world: World, scoring: str) -> None:
    store(world, "a", "the ships", days=40)
    store(world, "b", "ships and redis caches", days=2)
    for hit in show(world, "ships", scoring=scoring, current_session="a", rank_swing=0.4, decay_swing=0.3):
        told = hit.explanation
        parts = told["rank"]["parts"]
        weights = {"base": 0.2, "depth": 0.2, "reference": 0.3, "quality": 0.2, "recency": 0.1}
        assert told["rank"]["rank"] == pytest.approx(sum(weights[part] * parts[part] for part in weights))
        assert hit.score == prod(told["factors"].values())
        assert told["days"] == (40 if hit.session_id == "a" else 2)
        assert (told["formula"].startswith("bm25 / max bm25"), told["synonym_weight"]) == (True, 1 / 3)
        if scoring == "bounded":
            assert (told["a"], told["b"], told["cap"]) == (0.4, 0.3, 1.2)
            assert told["factors"]["rank"] == pytest.approx(1 + 0.4 * (told["rank"]["rank"] - 0.5))
            assert told["factors"]["decay"] == pytest.approx(1 + 0.3 * (parts["recency"] - 0.5))
        else:
            assert not {"a", "b", "cap"} & told.keys()


def test_a_passage_is_cut_once_for_all_who_ask_the_same(world: World) -> None:
    store(world, "a", "soup", "the ships")
    first = show(world, "ships")
    stored = dict(world.conversations.prepared)
    world.conversations.prepared.clear()  # behind the back of the caches: the generation stands
    again = show(world, "ships", current_session="a")
    assert [hit.snippet for hit in again] == [hit.snippet for hit in first] == ["the ships"]
    assert again[0].score > first[0].score
    world.conversations.prepared.update(stored)


def test_a_session_that_is_dropped_while_it_is_searched_is_not_shown(world: World) -> None:
    store(world, "a", "the ships")
    store(world, "b", "ships")
    question, recalled, chosen = choose(world, "ships")
    world.conversations.drop("talks", "a")
    passages = find_passages(question, recalled, chosen, world.conversations)
    assert [hit.session_id for hit in show_hits(question.request, chosen, passages)] == ["b"]


def test_a_session_that_loses_its_words_while_it_is_searched_shows_its_name(world: World) -> None:
    store(world, "a", "the ships", name="Harbour")
    question, recalled, chosen = choose(world, "ships")
    store(world, "a", "soup", name="Kitchen")
    passages = find_passages(question, recalled, chosen, world.conversations)
    assert (passages["a"].snippet.text, passages["a"].snippet.marks, passages["a"].message_id) == ("Kitchen", (), None)


def test_the_order_is_by_score_unless_it_is_diversified(world: World) -> None:
    for number in range(5):
        store(world, f"s{number}", "ships" + " x" * number, days=40)
    store(world, "today", "ships" + " y" * 9, days=0)

    def order(**fields: Any) -> list[tuple[str, str, str | None]]:
        _, _, chosen = choose(world, "ships", scoring="bm25", **fields)
        return [(each.placed.session_id, each.placed.step, each.placed.reason) for each in chosen]

    assert order(top_n=2) == [("s0", "score", None), ("s1", "score", None)]
    assert order(diversify=True, top_n=5) == [
        ("s0", "relevance", None), ("s1", "relevance", None), ("s2", "relevance", None), ("today", "age", "today"),
        ("s3", "age", "older"),
    ]  # fmt: skip
