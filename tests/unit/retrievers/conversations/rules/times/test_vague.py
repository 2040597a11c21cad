"""Vaguer time expressions: a table for one fixed now, and what must not be read as a time."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from querymill_workers.retrievers.conversations.rules.times.find import TimeRange, find_time

SHANGHAI = ZoneInfo("Asia/Shanghai")
#: A Wednesday.
NOW = datetime(2026, 5, 20, 10, 30, tzinfo=SHANGHAI)


def local(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text).replace(tzinfo=SHANGHAI).astimezone(UTC)


# Expression, from, to: on the wall clock of Shanghai.
TABLE: list[tuple[str, str | None, str | None]] = [
    ("recently", "2026-05-06", "2026-05-21"),
    ("lately", "2026-05-06", "2026-05-21"),
    ("最近", "2026-05-06", "2026-05-21"),
    ("the other day", "2026-05-13", "2026-05-20"),
    ("earlier this week", "2026-05-18", "2026-05-25"),
    ("the first week of May", "2026-05-01", "2026-05-08"),
    ("last week of June 2024", "2024-06-24", "2024-07-01"),
    ("a while ago", "2026-01-17", "2026-05-17"),
    ("前阵子", "2026-03-18", "2026-05-17"),
    ("前段时间", "2026-03-18", "2026-05-17"),
    ("last summer", "2025-06-01", "2025-09-01"),
    ("last winter", "2025-12-01", "2026-03-01"),
    ("this spring", "2026-03-01", "2026-06-01"),
    ("summer of 2024", "2024-06-01", "2024-09-01"),
    ("in the fall", "2025-09-01", "2025-12-01"),
    ("去年夏天", "2025-06-01", "2025-09-01"),
    ("去年冬天", "2025-12-01", "2026-03-01"),
    ("on the 14th", "2026-05-14", "2026-05-15"),
    ("on the 25th", "2026-04-25", "2026-04-26"),
    ("the 14th", "2026-05-14", "2026-05-15"),
    ("14号", "2026-05-14", "2026-05-15"),
    ("二十五号", "2026-04-25", "2026-04-26"),
    ("on 4/14", "2026-04-14", "2026-04-15"),
    ("on 14/4", "2026-04-14", "2026-04-15"),
    ("4/14", "2026-04-14", "2026-04-15"),
    ("7/14", "2025-07-14", "2025-07-15"),
    ("31/12", "2025-12-31", "2026-01-01"),
    ("Q2", "2026-04-01", "2026-07-01"),
    ("over the holidays", "2025-12-24", "2026-01-02"),
    ("since the holidays", "2025-12-24", None),
    ("两个半月前", "2026-02-21", "2026-03-19"),
    ("一年半前", "2024-08-22", "2025-02-19"),
    ("两天半前", "2026-05-17T12:30", "2026-05-18T08:30"),
    ("second quarter", "2026-04-01", "2026-07-01"),
    ("the first quarter of 2025", "2025-01-01", "2025-04-01"),
    ("the past weekend", "2026-05-16", "2026-05-18"),
    ("a fortnight ago", "2026-05-04", "2026-05-11"),
    ("the last fortnight", "2026-05-06", "2026-05-21"),
    ("a month and a half ago", "2026-03-28", "2026-04-13"),
    ("one and a half years ago", "2024-08-22", "2025-02-19"),
    ("a year ago today", "2025-05-20", "2025-05-21"),
    ("a week ago yesterday", "2026-05-12", "2026-05-13"),
    ("this time last year", "2025-05-05", "2025-06-05"),
    ("this day last month", "2026-04-20", "2026-04-21"),
    ("the week of March 10", "2026-03-09", "2026-03-16"),
    ("week of 2026-03-10", "2026-03-09", "2026-03-16"),
    ("Tuesday before last", "2026-05-12", "2026-05-13"),
    ("the Friday before last", "2026-05-08", "2026-05-09"),
    # Parts
    ("early March", "2026-03-01", "2026-03-11"),
    ("in early March", "2026-03-01", "2026-03-11"),
    ("mid April 2026", "2026-04-11", "2026-04-21"),
    ("mid-April", "2026-04-11", "2026-04-21"),
    ("late February", "2026-02-21", "2026-03-01"),
    ("the end of last month", "2026-04-21", "2026-05-01"),
    ("the end of last week", "2026-05-15", "2026-05-18"),
    ("early this week", "2026-05-18", "2026-05-20"),
    ("early last year", "2025-01-01", "2025-05-01"),
    ("late 2025", "2025-09-01", "2026-01-01"),
    ("the beginning of the month", "2026-05-01", "2026-05-11"),
    ("the end of the month", "2026-04-21", "2026-05-01"),
    ("the start of the year", "2026-01-01", "2026-05-01"),
    ("三月初", "2026-03-01", "2026-03-11"),
    ("四月中旬", "2026-04-11", "2026-04-21"),
    ("上个月底", "2026-04-21", "2026-05-01"),
    ("去年年底", "2025-09-01", "2026-01-01"),
    ("去年底", "2025-09-01", "2026-01-01"),
    ("今年年初", "2026-01-01", "2026-05-01"),
    ("月初", "2026-05-01", "2026-05-11"),
    ("月底", "2026-04-21", "2026-05-01"),
    ("上旬", "2026-05-01", "2026-05-11"),
    ("年初", "2026-01-01", "2026-05-01"),
    ("年底", "2025-09-01", "2026-01-01"),
    ("一个多月前", "2026-03-01", "2026-05-01"),
    ("两年多前", "2023-01-01", "2025-01-01"),
    ("半个月前", "2026-04-30", "2026-05-11"),
    # Holidays
    ("over Christmas", "2025-12-24", "2025-12-27"),
    ("Thanksgiving", "2025-11-27", "2025-12-01"),
    ("Easter", "2026-04-03", "2026-04-07"),
    ("国庆期间", "2025-10-01", "2025-10-08"),
    ("春节", "2026-02-16", "2026-02-24"),
    ("去年春节", "2025-01-28", "2025-02-05"),
    ("中秋节", "2025-10-06", "2025-10-09"),
    ("五一", "2026-05-01", "2026-05-06"),
    ("元旦", "2025-12-31", "2026-01-03"),
]


@pytest.mark.parametrize(("expression", "start", "end"), TABLE, ids=[row[0] for row in TABLE])
def test_an_expression_means_its_span(expression: str, start: str | None, end: str | None) -> None:
    timed = find_time(expression, now=NOW, zone=SHANGHAI)
    assert timed is not None
    assert timed.range == TimeRange(local(start), local(end))
    assert timed.rest == ""


@pytest.mark.parametrize(
    "text",
    [
        "least recently used cache",
        "why is the recently added file missing",
        "the 14th element of the list",
        "on the 2nd attempt it failed",
        "1/2 of the tests",
        "7/20 tests failed",
        "is it there 24/7?",
        "a video of 16/9",
        "src/7/14",
        "Q2: why does it fail",
        "why is q2 empty",
        "the table holidays",
        "spring boot configuration",
        "summer school project",
        "最近邻搜索",
        "最近公共祖先",
        "3号线程卡住了",
        "fall back to the default",
        "the end of the file",
        "mid point of the list",
        "初始化失败",
        "年底薪",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_time_is_none(text: str) -> None:
    assert find_time(text, now=NOW, zone=SHANGHAI) is None


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("what did we decide in early March about caching", "what did we decide about caching"),
        ("what have I been doing recently", "what have I been doing"),
        ("上个月底讨论的连接池问题", "讨论的连接池问题"),
        ("国庆期间修的那个bug", "修的那个bug"),
        ("the retry code from last summer", "the retry code"),
        ("what broke in the 4/14 standup", "what broke standup"),
        ("Q3 decisions about caching", "decisions about caching"),
        ("两个半月前的连接池问题", "连接池问题"),
    ],
)
def test_the_words_of_the_time_leave_the_question(question: str, rest: str) -> None:
    timed = find_time(question, now=NOW, zone=SHANGHAI)
    assert timed is not None
    assert timed.rest == rest
