"""Understanding a question: each switch, and what the candidates depend on."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from querymill_shared.contracts.conversations.search import ConversationSearch
from querymill_workers.retrievers.conversations.ports.sessions import SPACE
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.retrievers.conversations.understanding import (
    Question,
    find_corrections,
    question_of,
    sessions_in_time,
    technical_terms,
    understand,
)
from querymill_workers.words.memory import MemoryWords
from querymill_workers.words.ports import WordUnit
from tests.fixtures.conversations import START, draft
from tests.fixtures.world import World

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)


def ask(query: str, *, now: datetime = NOW, generation: int = 1, **fields: Any) -> Question:
    request = ConversationSearch.model_validate({"collection": "talks", "query": query} | fields)
    return question_of(request, now, generation)


def test_a_question_knows_the_time_that_it_mentions_in_the_zone_of_the_caller() -> None:
    here, there = ask("ships yesterday"), ask("ships yesterday", time_zone="Asia/Shanghai")
    assert here.timed is not None
    assert there.timed is not None
    assert here.timed.range.start == datetime(2026, 6, 29, tzinfo=UTC)
    assert there.timed.range.start == datetime(2026, 6, 28, 16, tzinfo=UTC)
    assert ask("ships").timed is None
    assert ask("ships yesterday", time_filter=False).timed is None


@pytest.mark.parametrize(
    "fields",
    [
        {"current_session": "s"}, {"recent_sessions": ["s"]}, {"scoring": "bm25"}, {"diversify": False},
        {"rank_swing": 0.5}, {"decay_swing": 0.5}, {"context_cap": 2.0}, {"why_not": "s"}, {"lane": "bulk"},
        {"time_zone": "Asia/Shanghai"}, {"now": NOW + timedelta(days=9)},
    ],
    ids=lambda fields: next(iter(fields)),
)  # fmt: skip
def test_questions_that_have_the_same_candidates_have_the_same_key(fields: dict[str, Any]) -> None:
    assert ask("ships", **fields).key == ask("ships").key


@pytest.mark.parametrize(
    "fields",
    [
        {"query": "soup"}, {"collection": "others"}, {"expansion": True}, {"expansion": False}, {"spelling": False},
        {"simplification": False}, {"time_filter": False},
    ],
    ids=str,
)  # fmt: skip
def test_questions_whose_candidates_may_differ_have_keys_of_their_own(fields: dict[str, Any]) -> None:
    query = fields.pop("query", "ships")
    assert ask(query, **fields).key != ask("ships").key


def test_the_key_changes_with_the_generation_and_with_the_time_that_is_meant() -> None:
    assert ask("ships", generation=2).key != ask("ships", generation=1).key
    assert ask("ships yesterday").key == ask("ships yesterday", now=NOW + timedelta(hours=1)).key
    assert ask("ships yesterday").key != ask("ships yesterday", now=NOW + timedelta(days=1)).key


def test_a_question_is_taken_apart(world: World) -> None:
    world.words.put("talks", SPACE, [WordUnit("s", "the database pool")])
    found = understand(ask("please tell me why the databse pool hung yesterday"), world.ports)
    assert found.searched.split() == ["why", "the", "database", "pool", "hung"]
    assert found.dropped == ("please", "tell me")
    assert [(correction.written, correction.read_as) for correction in found.corrections] == [("databse", "database")]
    assert found.time is not None
    assert found.time.phrase == "yesterday"
    assert (found.intent, found.mode, found.synonyms) == ("explain", "normal", ())


def test_each_switch_leaves_its_part_of_the_question_as_it_is(world: World) -> None:
    world.words.put("talks", SPACE, [WordUnit("s", "the database pool")])
    query = "please explain the databse pool yesterday"
    off: dict[str, Any] = {"time_filter": False, "simplification": False, "spelling": False, "expansion": False}
    found = understand(ask(query, **off), world.ports)
    assert (found.searched, found.time, found.dropped, found.corrections, found.synonyms) == (query, None, (), (), ())
    for switch, gone in [("time_filter", "yesterday"), ("simplification", "please"), ("spelling", "databse")]:
        assert gone not in understand(ask(query, **(off | {switch: True})), world.ports).searched
    assert understand(ask(query, **(off | {"expansion": True})), world.ports).synonyms == ()  # databse is in no table
    assert understand(ask("the cache", expansion=True), world.ports).synonyms[0].term == "cache"


def test_importance_and_intent_are_of_the_question_as_it_was_asked(world: World) -> None:
    # 8 words (0.3), how (0.2), and two technical keywords (0.2): 0.7, though the time and the filler are dropped.
    found = understand(ask("please tell me how the redis cache failed yesterday"), world.ports)
    assert (found.importance, found.mode, found.intent) == (0.7, "deep", "debug")
    assert found.synonyms


def test_technical_terms_are_in_the_order_of_the_text_the_longer_first() -> None:
    vocabulary = TechnicalKeywords(["redis", "unit test", "test", "缓存"])
    assert technical_terms("缓存 in Redis, and a unit test", vocabulary) == ["缓存", "redis", "unit test", "test"]
    assert technical_terms("soup", vocabulary) == []


def test_words_are_corrected_by_the_words_of_their_own_collection() -> None:
    postings = MemoryWords()
    postings.put("talks", SPACE, [WordUnit("a", "the database")])
    postings.put("others", SPACE, [WordUnit("b", "soup")])
    (found,) = find_corrections("databse", "talks", postings)
    assert (found.written, found.read_as) == ("databse", "database")
    assert find_corrections("databse", "others", postings) == []
    assert find_corrections("the db", "talks", postings) == []


def test_the_sessions_of_a_time_are_those_with_a_message_in_it(world: World) -> None:
    for name, day in (("a", 0), ("b", 40)):
        world.conversations.put("talks", draft(name, day=day), replacing=None)
    february = ask("in February 2026")
    assert sessions_in_time(february, world.conversations) == ["b"]
    assert sessions_in_time(ask("ships"), world.conversations) is None
    assert sessions_in_time(ask("in March 2025"), world.conversations) == []
    assert datetime(2026, 1, 1, tzinfo=UTC) == START
