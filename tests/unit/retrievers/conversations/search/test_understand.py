"""Understanding a question: each switch, and what the candidates depend on."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from querymill_shared.contracts.conversations.search import ConversationSearch, Understanding
from querymill_workers.retrievers.conversations.ports.sessions import SPACE
from querymill_workers.retrievers.conversations.search.understand import (
    ConversationQuestion,
    key_of,
    understand_question,
)
from querymill_workers.words.ports import WordUnit
from tests.fixtures.world import World

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)


def request_of(query: str, **fields: Any) -> ConversationSearch:
    return ConversationSearch.model_validate({"collection": "talks", "query": query} | fields)


def ask(world: World, query: str, *, now: datetime = NOW, **fields: Any) -> ConversationQuestion:
    return understand_question(request_of(query, **fields), now, world.ports)


def understand(world: World, query: str, **fields: Any) -> Understanding:
    return ask(world, query, **fields).text.understanding


def test_a_question_knows_the_time_that_it_mentions_in_the_zone_of_the_caller(world: World) -> None:
    here, there = ask(world, "ships yesterday"), ask(world, "ships yesterday", time_zone="Asia/Shanghai")
    assert here.span is not None
    assert there.span is not None
    assert here.span.start == datetime(2026, 6, 29, tzinfo=UTC)
    assert there.span.start == datetime(2026, 6, 28, 16, tzinfo=UTC)
    assert ask(world, "ships").span is None
    assert ask(world, "ships yesterday", time_filter=False).span is None


@pytest.mark.parametrize(
    "fields",
    [
        {"current_session": "s"}, {"recent_sessions": ["s"]}, {"scoring": "bm25"}, {"diversify": False},
        {"rank_swing": 0.5}, {"decay_swing": 0.5}, {"context_cap": 2.0}, {"why_not": "s"}, {"lane": "bulk"},
        {"time_zone": "Asia/Shanghai"}, {"now": NOW + timedelta(days=9)},
    ],
    ids=lambda fields: next(iter(fields)),
)  # fmt: skip
def test_questions_that_have_the_same_candidates_have_the_same_key(world: World, fields: dict[str, Any]) -> None:
    assert ask(world, "ships", **fields).key == ask(world, "ships").key


@pytest.mark.parametrize(
    "fields",
    [
        {"query": "soup"}, {"collection": "others"}, {"expansion": True}, {"expansion": False}, {"spelling": False},
        {"simplification": False}, {"time_filter": False},
    ],
    ids=str,
)  # fmt: skip
def test_questions_whose_candidates_may_differ_have_keys_of_their_own(fields: dict[str, Any]) -> None:
    assert key_of(request_of("ships").model_copy(update=fields), 1, None) != key_of(request_of("ships"), 1, None)


def test_the_key_changes_with_the_generation_and_with_the_time_that_is_meant(world: World) -> None:
    assert key_of(request_of("ships"), 2, None) != key_of(request_of("ships"), 1, None)
    yesterday = ask(world, "ships yesterday").key
    assert yesterday == ask(world, "ships yesterday", now=NOW + timedelta(hours=1)).key
    assert yesterday != ask(world, "ships yesterday", now=NOW + timedelta(days=1)).key


def test_a_question_is_taken_apart(world: World) -> None:
    world.words.put("talks", SPACE, [WordUnit("s", "the database pool")])
    found = understand(world, "please tell me why the databse pool hung yesterday")
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
    found = understand(world, query, **off)
    assert (found.searched, found.time, found.dropped, found.corrections, found.synonyms) == (query, None, (), (), ())
    for switch, gone in [("time_filter", "yesterday"), ("simplification", "please"), ("spelling", "databse")]:
        assert gone not in understand(world, query, **(off | {switch: True})).searched
    assert understand(world, query, **(off | {"expansion": True})).synonyms == ()  # databse is in no table
    assert understand(world, "the cache", expansion=True).synonyms[0].term == "cache"


def test_importance_and_intent_are_of_the_question_as_it_was_asked(world: World) -> None:
    # 8 words (0.3), how (0.2), and two technical keywords (0.2): 0.7, though the time and the filler are dropped.
    found = understand(world, "please tell me how the redis cache failed yesterday")
    assert (found.importance, found.mode, found.intent) == (0.7, "deep", "debug")
    assert found.synonyms


def test_words_are_corrected_by_the_words_of_their_own_collection(world: World) -> None:
    world.words.put("talks", SPACE, [WordUnit("a", "the database")])
    world.words.put("others", SPACE, [WordUnit("b", "soup")])
    (found,) = understand(world, "databse").corrections
    assert (found.written, found.read_as) == ("databse", "database")
    assert understand(world, "databse", collection="others").corrections == ()
    assert understand(world, "the db").corrections == ()


def test_the_text_is_read_once_for_all_who_ask_the_same(world: World) -> None:
    world.words.put("talks", SPACE, [WordUnit("a", "the database")])
    first = ask(world, "databse")
    world.words.put("talks", SPACE, [WordUnit("b", "databse")])  # behind the back of the cache: the generation stands
    assert ask(world, "databse", now=NOW + timedelta(days=1), why_not="a").text is first.text


@pytest.mark.parametrize(("fields", "normal", "deep"), [({}, 10, 20), ({"top_n": 3}, 3, 3), ({"top_n": 200}, 200, 200)])
def test_a_request_has_as_many_hits_as_it_asks_for_or_as_its_mode_gives(
    world: World, fields: dict[str, Any], normal: int, deep: int
) -> None:
    found = [ask(world, query, **fields) for query in ("ships", "how do I index the redis cache of a database in sql")]
    assert [question.text.understanding.mode for question in found] == ["normal", "deep"]
    assert [question.limit for question in found] == [normal, deep]
