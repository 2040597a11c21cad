"""What a question asks for: intent, keywords, importance."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.retrievers.conversations.rules.traits import (
    Intent,
    importance,
    intent_of,
    keywords,
    mode_of,
    technical_terms,
    word_count,
)


@pytest.mark.parametrize(
    ("asked", "intent"),
    [
        ("the worker crashes on start", "debug"),
        ("连接池报错了", "debug"),
        ("what did we decide about caching", "decision"),
        ("消息队列选型", "decision"),
        ("那段重试的代码", "code_lookup"),
        ("the SQL snippet for upserts", "code_lookup"),
        ("how to set up the proxy", "how_to"),
        ("如何配置网关", "how_to"),
        ("why is the index unused", "explain"),
        ("幂等是什么意思", "explain"),
        ("上次聊的缓存", "recap"),
        ("our talk on layouts", "recap"),
    ],
)
def test_a_question_has_one_of_six_intents(asked: str, intent: Intent) -> None:
    assert intent_of(asked) == intent


def test_chinese_is_counted_in_segmented_words() -> None:
    assert word_count("如何优化数据库连接池的性能") == 6  # 如何 优化 数据库 连接池 的 性能
    assert word_count("how do I use load_batch()") == 5
    assert word_count("重启 docker 容器") == 3


@pytest.mark.parametrize(
    ("asked", "technical", "expected"),
    [
        ("caching", 1, 0.1),
        ("one two three four five", 0, 0.0),  # 5 words are not more than 5
        ("one two three four five six", 0, 0.3),
        ("one two three four five six", 3, 0.6),
        ("one two three four five six", 9, 0.6),  # keywords count up to 0.3
        ("how does it work", 0, 0.2),
        ("为什么", 0, 0.2),
        ("call it()", 0, 0.2),
        ("x[]", 0, 0.2),
        ("`x`", 0, 0.2),
        ("如何优化数据库连接池的性能", 4, 0.8),
        ("how do I call load_batch() in a new process", 3, 1.0),
    ],
)
def test_importance_adds_up(asked: str, technical: int, expected: float) -> None:
    assert importance(asked, technical=technical) == expected


def test_exactly_six_tenths_is_not_deep() -> None:
    assert mode_of(importance("one two three four five six", technical=3)) == "normal"
    assert mode_of(0.7) == "deep"


@given(st.text(max_size=80), st.integers(0, 20))
def test_importance_is_a_tenth_between_0_and_1(asked: str, technical: int) -> None:
    worth = importance(asked, technical=technical)
    assert 0 <= worth <= 1
    assert worth in {tenths / 10 for tenths in range(11)}


def test_keywords_are_the_terms_then_what_else_says_something() -> None:
    assert keywords("怎么解决 load_batch() 的超时问题", ["超时"]) == ["超时", "解决", "load_batch", "问题"]
    assert keywords("what did we decide about caching", ["caching"]) == ["caching", "decide"]
    assert keywords("connection pool size", ["connection pool"]) == ["connection pool", "size"]


def test_technical_terms_are_in_the_order_of_the_text_the_longer_first() -> None:
    vocabulary = TechnicalKeywords(["redis", "unit test", "test", "缓存"])
    assert technical_terms("缓存 in Redis, and a unit test", vocabulary) == ["缓存", "redis", "unit test", "test"]
    assert technical_terms("soup", vocabulary) == []
