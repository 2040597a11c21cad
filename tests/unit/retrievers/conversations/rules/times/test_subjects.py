"""A time that is the subject of a question is no filter; the time of a talk is."""

from datetime import UTC, datetime

import pytest

from querymill_workers.retrievers.conversations.rules.times.find import find_time

NOW = datetime(2026, 7, 29, 18, tzinfo=UTC)


@pytest.mark.parametrize(
    "question",
    [
        "why is yesterday's cached value returned",
        "sort by last month column",
        "the last month column is empty",
        "sorted by last week",
        "postgres 16 released in September 2023 breaking changes",
        "why did strptime fail on 2024-03-01",
        "parsing the string 2024-03-01 gives an error",
        'the label "yesterday" is cut off',
        "someone yesterday upgraded and lost their desktop",
        "I installed ubuntu a few days ago and it does not boot",
        "yesterday i could open the channel, today it says invitation only",
        "为什么返回昨天的缓存",
        "按上个月排序",
        "离我最近的酒店",
        "最近的地铁站在哪",
        "2023年9月发布的新版本",
    ],
)
def test_the_subject_of_a_question_is_no_filter(question: str) -> None:
    assert find_time(question, now=NOW, zone=UTC) is None


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("yesterday's session about the watcher", "session about the watcher"),
        ("last month's discussion of caching", "discussion of caching"),
        ("last month's login fix", "login fix"),
        ("last year's migration", "migration"),
        ("最近的登录问题", "登录问题"),
        ("the parser that we released in June", "the parser that we released"),
        ("what did we do yesterday with the cached value", "what did we do with the cached value"),
        ("昨天我们讨论的缓存", "我们讨论的缓存"),
        ("the parser I wrote last week", "the parser I wrote"),
        ("what did I do yesterday", "what did I do"),
        ("I asked about caching yesterday", "I asked about caching"),
        ("can someone find the session of yesterday", "can someone find the session"),
        ("我们上个月发布的版本有什么问题", "我们 发布的版本有什么问题"),
        ("antigravity on 2026-07-22", "antigravity"),
    ],
)
def test_the_time_of_a_talk_is_a_filter(question: str, rest: str) -> None:
    timed = find_time(question, now=NOW, zone=UTC)
    assert timed is not None
    assert timed.rest == rest


def test_one_time_may_be_the_subject_and_another_the_filter() -> None:
    timed = find_time("why did we sort by last month column yesterday", now=NOW, zone=UTC)
    assert timed is not None
    assert (timed.phrase, timed.rest) == ("yesterday", "why did we sort by last month column")
