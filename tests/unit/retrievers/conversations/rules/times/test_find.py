"""Time expressions: a table for one fixed now, what must not match, and what is left of the question."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from querymill_workers.retrievers.conversations.rules.times.find import MAX_MENTIONS, TimeRange, find_time

SHANGHAI = ZoneInfo("Asia/Shanghai")
#: A Wednesday.
NOW = datetime(2026, 5, 20, 10, 30, tzinfo=SHANGHAI)


def local(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text).replace(tzinfo=SHANGHAI).astimezone(UTC)


# Expression, from, to: on the wall clock of Shanghai.
TABLE: list[tuple[str, str | None, str | None]] = [
    # Chinese days
    ("今天", "2026-05-20", "2026-05-21"),
    ("今早", "2026-05-20 06:00", "2026-05-20 12:00"),
    ("昨天", "2026-05-19", "2026-05-20"),
    ("昨晚", "2026-05-19 18:00", "2026-05-20"),
    ("前天晚上", "2026-05-18 18:00", "2026-05-19"),
    ("昨天晚上八点", "2026-05-19 20:00", "2026-05-19 21:00"),
    ("昨晚八点", "2026-05-19 20:00", "2026-05-19 21:00"),
    ("昨晚8点", "2026-05-19 20:00", "2026-05-19 21:00"),
    ("昨天晚上 8:30", "2026-05-19 20:30", "2026-05-19 21:30"),
    ("今天早上九点", "2026-05-20 09:00", "2026-05-20 10:00"),
    ("今早9点半", "2026-05-20 09:30", "2026-05-20 10:30"),
    ("前天凌晨两点", "2026-05-18 02:00", "2026-05-18 03:00"),
    ("大前天", "2026-05-17", "2026-05-18"),
    ("三天前", "2026-05-17", "2026-05-18"),
    ("10天前", "2026-05-10", "2026-05-11"),
    ("几天前", "2026-05-14", "2026-05-19"),
    ("前两天", "2026-05-18", "2026-05-20"),
    ("前几天", "2026-05-14", "2026-05-20"),
    ("2-3天前", "2026-05-17", "2026-05-19"),
    ("两到三天前", "2026-05-17", "2026-05-19"),
    ("两三天前", "2026-05-17", "2026-05-19"),
    ("三五天前", "2026-05-15", "2026-05-18"),
    ("三两天前", "2026-05-17", "2026-05-19"),
    ("二三十天前", "2026-04-20", "2026-05-01"),
    ("十五六天前", "2026-05-04", "2026-05-06"),
    ("二十五天前", "2026-04-25", "2026-04-26"),
    ("二十三四天前", "2026-04-26", "2026-04-28"),
    ("昨天下午三四点", "2026-05-19 15:00", "2026-05-19 17:00"),
    # Chinese weeks
    ("上周", "2026-05-11", "2026-05-18"),
    ("这周", "2026-05-18", "2026-05-25"),
    ("两周前", "2026-05-04", "2026-05-11"),
    ("两三周前", "2026-04-27", "2026-05-11"),
    ("上上周五", "2026-05-08", "2026-05-09"),
    ("上周三", "2026-05-13", "2026-05-14"),
    ("上周三下午三点", "2026-05-13 15:00", "2026-05-13 16:00"),
    ("上周三下午三点半", "2026-05-13 15:30", "2026-05-13 16:30"),
    ("上个星期天", "2026-05-17", "2026-05-18"),
    ("这周一", "2026-05-18", "2026-05-19"),
    ("本周二", "2026-05-19", "2026-05-20"),
    ("礼拜五", "2026-05-15", "2026-05-16"),
    ("周三", "2026-05-20", "2026-05-21"),
    ("上周末", "2026-05-16", "2026-05-18"),
    # Chinese months, quarters, years
    ("本月", "2026-05-01", "2026-06-01"),
    ("上个月", "2026-04-01", "2026-05-01"),
    ("3个月前", "2026-02-01", "2026-03-01"),
    ("一两个月前", "2026-03-01", "2026-05-01"),
    ("三四个月前", "2026-01-01", "2026-03-01"),
    ("前几个月", "2025-11-01", "2026-05-01"),
    ("半年前", "2025-11-01", "2025-12-01"),
    ("三月份", "2026-03-01", "2026-04-01"),
    ("十二月", "2025-12-01", "2026-01-01"),
    ("去年三月", "2025-03-01", "2025-04-01"),
    ("2024年5月", "2024-05-01", "2024-06-01"),
    ("2024年5月3日", "2024-05-03", "2024-05-04"),
    ("24年3月", "2024-03-01", "2024-04-01"),
    ("二四年三月五日", "2024-03-05", "2024-03-06"),
    ("98年3月", "1998-03-01", "1998-04-01"),
    ("24年", "2024-01-01", "2025-01-01"),
    ("二四年", "2024-01-01", "2025-01-01"),
    ("24年第三季度", "2024-07-01", "2024-10-01"),
    ("24年前", "2002-01-01", "2003-01-01"),
    ("3月1日至5日", "2026-03-01", "2026-03-06"),
    ("2024年2月1日到29日", "2024-02-01", "2024-03-01"),
    ("去年三月一到五号", "2025-03-01", "2025-03-06"),
    ("3月30-2日", "2026-03-30", "2026-04-03"),
    ("12月1-5日", "2025-12-01", "2025-12-06"),
    ("3月1日到5月3日", "2026-03-01", "2026-05-04"),
    ("5月3号上午10点", "2026-05-03 10:00", "2026-05-03 11:00"),
    ("十一月二十一日", "2025-11-21", "2025-11-22"),
    ("二〇二四年", "2024-01-01", "2025-01-01"),
    ("二零二四年", "2024-01-01", "2025-01-01"),
    ("去年", "2025-01-01", "2026-01-01"),
    ("前年", "2024-01-01", "2025-01-01"),
    ("今年上半年", "2026-01-01", "2026-07-01"),
    ("去年第四季度", "2025-10-01", "2026-01-01"),
    ("上季度", "2026-01-01", "2026-04-01"),
    # Chinese stretches up to today, hours, open and joined ranges
    ("最近三天", "2026-05-17", "2026-05-21"),
    ("最近两三天", "2026-05-17", "2026-05-21"),
    ("最近2-3天", "2026-05-17", "2026-05-21"),
    ("过去两个月内", "2026-03-20", "2026-05-21"),
    ("最近一周", "2026-05-13", "2026-05-21"),
    ("两个小时前", "2026-05-20 07:30", "2026-05-20 09:30"),
    ("半小时前", "2026-05-20 09:52:30", "2026-05-20 10:07:30"),
    ("10分钟前", "2026-05-20 10:15", "2026-05-20 10:25"),
    ("三四十分钟前", "2026-05-20 09:40", "2026-05-20 10:07:30"),
    ("刚才", "2026-05-20 09:30", "2026-05-21"),
    ("上周以来", "2026-05-11", None),
    ("去年之前", None, "2025-01-01"),
    ("5月3日之后", "2026-05-04", None),
    ("从三月到五月", "2026-03-01", "2026-06-01"),
    ("从去年十一月到三月", "2025-11-01", "2026-04-01"),
    ("周一到周五", "2026-05-18", "2026-05-23"),
    ("周一到周末", "2026-05-18", "2026-05-25"),
    ("上周一到周三", "2026-05-11", "2026-05-14"),
    ("上周一到周三下午三点", "2026-05-11", "2026-05-13 16:00"),
    ("上周五到周一", "2026-05-15", "2026-05-19"),
    ("从周一开始到周五", "2026-05-18", None),
    ("周一和周五", "2026-05-15", "2026-05-19"),
    ("从5月1日到5月31日", "2026-05-01", "2026-06-01"),
    ("去年三月到五月", "2025-03-01", "2025-06-01"),
    ("去年到三月", "2025-01-01", "2026-04-01"),
    ("三月到十一月", "2026-03-01", "2026-12-01"),
    ("2024年2月29日和2023年3月1日", "2023-03-01", "2024-03-01"),
    # English days
    ("today", "2026-05-20", "2026-05-21"),
    ("this morning", "2026-05-20 06:00", "2026-05-20 12:00"),
    ("yesterday", "2026-05-19", "2026-05-20"),
    ("yesterday afternoon", "2026-05-19 12:00", "2026-05-19 18:00"),
    ("3pm yesterday", "2026-05-19 15:00", "2026-05-19 16:00"),
    ("last night", "2026-05-19 18:00", "2026-05-20 06:00"),
    ("the day before yesterday", "2026-05-18", "2026-05-19"),
    ("3 days ago", "2026-05-17", "2026-05-18"),
    ("fifteen days ago", "2026-05-05", "2026-05-06"),
    ("twenty days ago", "2026-04-30", "2026-05-01"),
    ("twenty-five days ago", "2026-04-25", "2026-04-26"),
    ("thirty days ago", "2026-04-20", "2026-04-21"),
    ("1-2 days ago", "2026-05-18", "2026-05-20"),
    ("2 or 3 days ago", "2026-05-17", "2026-05-19"),
    ("between two and three days ago", "2026-05-17", "2026-05-19"),
    ("from May 3 to 2 days ago", "2026-05-03", "2026-05-19"),
    ("a few days ago", "2026-05-14", "2026-05-19"),
    # English weeks
    ("last week", "2026-05-11", "2026-05-18"),
    ("a couple of weeks ago", "2026-05-04", "2026-05-11"),
    ("the week before last", "2026-05-04", "2026-05-11"),
    ("last Tuesday", "2026-05-19", "2026-05-20"),
    ("last Wednesday", "2026-05-13", "2026-05-14"),
    ("on Monday", "2026-05-18", "2026-05-19"),
    ("this Monday", "2026-05-18", "2026-05-19"),
    ("Friday of last week", "2026-05-15", "2026-05-16"),
    ("last week on Thursday", "2026-05-14", "2026-05-15"),
    ("last Friday at 3:30 pm", "2026-05-15 15:30", "2026-05-15 16:30"),
    ("last weekend", "2026-05-16", "2026-05-18"),
    # English months, quarters, years
    ("in March", "2026-03-01", "2026-04-01"),
    ("in march", "2026-03-01", "2026-04-01"),
    ("in June", "2025-06-01", "2025-07-01"),
    ("last March", "2026-03-01", "2026-04-01"),
    ("last May", "2025-05-01", "2025-06-01"),
    ("March 2025", "2025-03-01", "2025-04-01"),
    ("last month", "2026-04-01", "2026-05-01"),
    ("two months ago", "2026-03-01", "2026-04-01"),
    ("May 3rd", "2026-05-03", "2026-05-04"),
    ("May 3, 2025", "2025-05-03", "2025-05-04"),
    ("on Friday 13 March", "2026-03-13", "2026-03-14"),
    ("Friday, March 13, 2026", "2026-03-13", "2026-03-14"),
    ("the 3rd of May", "2026-05-03", "2026-05-04"),
    ("Dec 24", "2025-12-24", "2025-12-25"),
    ("in 2024", "2024-01-01", "2025-01-01"),
    ("last year", "2025-01-01", "2026-01-01"),
    ("Q3 2025", "2025-07-01", "2025-10-01"),
    ("in Q2", "2026-04-01", "2026-07-01"),
    ("last quarter", "2026-01-01", "2026-04-01"),
    # ISO
    ("2024-05", "2024-05-01", "2024-06-01"),
    ("2024-05-03", "2024-05-03", "2024-05-04"),
    ("2024/05/03", "2024-05-03", "2024-05-04"),
    ("2024-05-03T14:20", "2024-05-03 14:20", "2024-05-03 15:20"),
    ("2024-W18", "2024-04-29", "2024-05-06"),
    # English stretches up to today, hours, open and joined ranges
    ("in the last 3 days", "2026-05-17", "2026-05-21"),
    ("in the last 2-3 days", "2026-05-17", "2026-05-21"),
    ("the past week", "2026-05-13", "2026-05-21"),
    ("past two weeks", "2026-05-06", "2026-05-21"),
    ("an hour ago", "2026-05-20 08:30", "2026-05-20 10:30"),
    ("since Monday", "2026-05-18", None),
    ("before 2024", None, "2024-01-01"),
    ("after May 3", "2026-05-04", None),
    ("between March and May", "2026-03-01", "2026-06-01"),
    ("from March to May 2025", "2025-03-01", "2025-06-01"),
    ("from May to March 2024", "2023-05-01", "2024-04-01"),
    ("Monday to Friday", "2026-05-18", "2026-05-23"),
    ("Monday to last Friday", "2026-05-11", "2026-05-16"),
    ("between Monday and Friday", "2026-05-18", "2026-05-23"),
    ("Monday and Friday", "2026-05-15", "2026-05-19"),
    ("from 2026-05-01 to 2026-05-31", "2026-05-01", "2026-06-01"),
    ("2024-05-01 and 2023-06-01", "2023-06-01", "2024-05-02"),
    ("from Feb 29 2024 to March 2023", "2023-03-01", "2024-03-01"),
    ("since last year until March", "2025-01-01", "2026-03-01"),
]


@pytest.mark.parametrize(("expression", "start", "end"), TABLE)
def test_an_expression_stands_for_a_range_and_is_taken_out(expression: str, start: str | None, end: str | None) -> None:
    found = find_time(expression, now=NOW, zone=SHANGHAI)
    assert found is not None
    assert found.range == TimeRange(local(start), local(end))
    assert found.rest == ""


@pytest.mark.parametrize(
    "text",
    [
        "May I ask something", "march through the list", "the second one", "give me a second", "this may fail",
        "what may happen", "day one", "the last element", "last 3 commits", "read it in 2000 lines", "3 weeks of work",
        "log-2024-05-03.txt", "v2024.05.03", "2024-13", "Feb 30, 2025", "`yesterday()` returns a date", "call today()",
        "every Tuesday", "next week", "next Friday", "this Friday", "a week view", "the month picker", "up to date",
        "ago", "since then", "march 3 times",
        "一周三次", "上周三次会议", "每周五的例会", "下周一", "三点建议", "十点原因",
        "周边设备", "前端三天的工作量", "最近邻搜索",
        "目前的方案", "一百二十天前", "30年经验", "20年经验", "用了24年", "24年内", "上线前两天",
        "2月29日", "2月30日的会议", "2月1日到30日", "February 29", "on Friday, February 30",
"以前的代码", "三个月的工作", "五四运动", "明天再说",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_time_is_none(text: str) -> None:
    assert find_time(text, now=NOW, zone=SHANGHAI) is None


@pytest.mark.parametrize(
    ("question", "phrase", "rest"),
    [
        ("What did we decide about caching last week?", "last week", "What did we decide about caching ?"),
        ("上周三我们怎么处理数据库超时的", "上周三", "我们怎么处理数据库超时的"),
        ("昨天晚上八点讨论的redis", "昨天晚上八点", "讨论的redis"),
        ("昨晚redis挂了", "昨晚", "redis挂了"),
        ("昨天三次报错", "昨天", "三次报错"),
        ("上周的讨论", "上周的", "讨论"),
        ("在去年三月的时候讨论的缓存", "在去年三月的时候", "讨论的缓存"),
        ("deploy at 3pm on last Tuesday failed", "at 3pm on last Tuesday", "deploy failed"),
        ("compare 2024-05-03 and 2030-01-01", "2024-05-03", "compare and 2030-01-01"),
        ("retry bug, in the last 3 days", "in the last 3 days", "retry bug,"),
        ("2024年的 schema 迁移", "2024年的", "schema 迁移"),
    ],
)
def test_the_words_of_the_time_leave_the_question(question: str, phrase: str, rest: str) -> None:
    found = find_time(question, now=NOW, zone=SHANGHAI)
    assert found is not None
    assert (found.phrase, found.rest) == (phrase, rest)


def test_several_expressions_give_the_range_that_holds_them() -> None:
    found = find_time("compare last week with 2024-05", now=NOW, zone=SHANGHAI)
    assert found is not None
    assert found.range == TimeRange(local("2024-05-01"), local("2026-05-18"))


def test_days_begin_where_the_asker_is() -> None:
    evening = datetime(2026, 5, 20, 22, 0, tzinfo=UTC)  # the 21st in Shanghai
    there = find_time("today", now=evening, zone=SHANGHAI)
    here = find_time("today", now=evening, zone=UTC)
    assert there is not None
    assert here is not None
    assert there.range.start == local("2026-05-21")
    assert here.range.start == datetime(2026, 5, 20, tzinfo=UTC)


def test_a_day_of_summer_time_has_23_hours() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    found = find_time("on 2026-03-29", now=NOW, zone=berlin)
    assert found is not None
    assert found.range == TimeRange(datetime(2026, 3, 28, 23, tzinfo=UTC), datetime(2026, 3, 29, 22, tzinfo=UTC))


@pytest.mark.parametrize(
    "text",
    [
        "三四十分钟前", "二三十天前", "昨天十十点", "compare 2024-02-29 and 2023-03-01", "2024年2月29日和2023年3月1日",
        "celery retries from Feb 29 2024 to March 2023", "in Auguſt", "on frıday",
    ],
)  # fmt: skip
def test_nothing_that_is_written_is_an_error(text: str) -> None:
    find_time(text, now=NOW, zone=SHANGHAI)


PIECES = [expression for expression, _, _ in TABLE] + [
    "to",
    "and",
    "到",
    "之前",
    "since ",
    "before ",
    "999",
    "-",
    "的",
    " ",
]


@given(st.lists(st.sampled_from(PIECES), max_size=6).map(" ".join) | st.text(max_size=60))
def test_whatever_is_asked_gives_a_range_that_has_begun_or_none(text: str) -> None:
    found = find_time(text, now=NOW, zone=SHANGHAI)
    if found is None:
        return
    start, end = found.range.start, found.range.end
    assert start is None or start <= NOW
    assert start is None or end is None or start < end
    assert len(found.rest) <= len(text)


#: What expressions are made of: put together at random, most of it is no expression.
SCRAPS = [
    *"零〇一二两三四五六七八九十百几数好半年月日号天周星期礼拜个季度前后上下这本今昨去大早晚点时分整末至到和与从自在的之以近",
    *(
        "分钟",
        "小时",
        "晚上",
        "下午",
        "中午",
        "凌晨",
        "最近",
        "过去",
        "以来",
        "之前",
        "之后",
        "24年",
        "2024年",
        "2月29日",
        "月底",
    ),
    *("last ", "this ", "past ", "ago", " ago", " days", " weeks", "fifteen", "twenty-", "two", "a few", "a couple of"),
    *("Monday", "Fri", "march", "May", "Feb", "Auguſt", "of", "on", "in", "at", "the", "to", "and", "or", "between"),
    *("2024", "-02", "-29", "/", ":", "T14", "30", "29", "31", "0", "99", "999", "1", "3pm", "th", "st", "Q3", "W53"),
    *(" ", ",", "`", "？", "２", "ſ", "ı", "K"),
]
NUMERALS = st.text("零一二两三四五六七八九十几0123456789-到至", max_size=4)
COUNTED = st.tuples(
    st.sampled_from(["", "最近", "过去", "前", "昨天", "今天晚上", "3月"]),
    NUMERALS,
    st.sampled_from(["分钟前", "个小时前", "天", "天前", "周前", "个月", "年", "年前", "点", "点半", "日", "月", "号"]),
)
FORMS = ["%Y-%m-%d", "%Y年%m月%d日", "%y年%m月", "%m月%d日", "%b %d %Y", "%d %B", "%B %Y", "%B", "%A", "%Y-W%W"]
LEAP_DAYS = st.sampled_from(range(1988, 2100, 4)).map(lambda year: date(year, 2, 29))
DATES = st.builds(date.strftime, LEAP_DAYS | st.dates(date(1900, 1, 1), date(2100, 1, 1)), st.sampled_from(FORMS))
JOINTS = st.sampled_from([" to ", " and ", "和", "到", "至", " - ", "", "since ", "之前"])
TEXTS = st.lists(
    st.sampled_from(SCRAPS) | st.sampled_from(PIECES) | COUNTED.map("".join) | DATES | JOINTS, max_size=8
) | st.tuples(DATES, JOINTS, DATES)
MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2099, 12, 31), timezones=st.sampled_from([SHANGHAI, UTC]))  # noqa: DTZ001


@given(TEXTS.map("".join), MOMENTS)
@example("半小时前", datetime(1991, 4, 14, 2, 0, fold=1, tzinfo=SHANGHAI))
def test_no_mixture_of_words_and_numerals_is_an_error(text: str, now: datetime) -> None:
    found = find_time(text, now=now, zone=SHANGHAI)
    if found is not None and found.range.start is not None:
        assert found.range.start <= now


def test_only_so_many_times_of_a_question_are_looked_at() -> None:
    found = find_time("去年 " * 200 + "and nothing else", now=NOW, zone=SHANGHAI)
    assert found is not None
    assert found.phrase.split() == ["去年"] * MAX_MENTIONS
    assert found.rest.endswith("and nothing else")
