"""Dates in figures by locale and evidence, days from one to another, and weekdays that are counted back."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest

from querymill_workers.retrievers.conversations.rules.times.find import find_time
from querymill_workers.retrievers.conversations.rules.times.numeric import order_of

#: A Wednesday.
NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)


def days(question: str, *, zone: tzinfo = UTC, locale: str | None = None) -> tuple[str, str] | None:
    found = find_time(question, now=NOW, zone=zone, locale=locale)
    if found is None or found.range.start is None or found.range.end is None:
        return None
    start, end = (side.astimezone(zone).date().isoformat() for side in (found.range.start, found.range.end))
    return start, end


# Expression, first day, the day after the last one.
COUNTED = [
    ("3–7 March", "2026-03-03", "2026-03-08"),
    ("3-7 March 2025", "2025-03-03", "2025-03-08"),
    ("from the 3rd to the 7th of March", "2026-03-03", "2026-03-08"),
    ("between 3 and 7 March", "2026-03-03", "2026-03-08"),
    ("between March 3 and 7", "2026-03-03", "2026-03-08"),
    ("March 3–7, 2025", "2025-03-03", "2025-03-08"),
    ("from March 3rd through the 7th", "2026-03-03", "2026-03-08"),
    ("28–3 March", "2026-02-28", "2026-03-04"),
    ("March 28–3", "2026-03-28", "2026-04-04"),
    ("28 December - 3 January", "2025-12-28", "2026-01-04"),
    ("1 to 5 June", "2025-06-01", "2025-06-06"),
    ("3月3日到7日", "2026-03-03", "2026-03-08"),
    ("从3月3日到7日", "2026-03-03", "2026-03-08"),
    ("3月3日至4月7日", "2026-03-03", "2026-04-08"),
    ("two Fridays ago", "2026-05-08", "2026-05-09"),
    ("a couple of Fridays ago", "2026-05-08", "2026-05-09"),
    ("three Wednesdays ago", "2026-04-29", "2026-04-30"),
    ("two or three Fridays ago", "2026-05-01", "2026-05-09"),
    ("two weekends ago", "2026-05-09", "2026-05-11"),
    ("the weekend before last", "2026-05-09", "2026-05-11"),
    ("the Friday before last", "2026-05-08", "2026-05-09"),
    ("the week before last", "2026-05-04", "2026-05-11"),
    ("the month before last", "2026-03-01", "2026-04-01"),
    ("Friday two weeks ago", "2026-05-08", "2026-05-09"),
    ("a week ago Tuesday", "2026-05-12", "2026-05-13"),
    ("上上周", "2026-05-04", "2026-05-11"),
    ("上上周五", "2026-05-08", "2026-05-09"),
    ("上上个周末", "2026-05-09", "2026-05-11"),
    ("两周前的周五", "2026-05-08", "2026-05-09"),
    ("两个星期五之前", "2026-05-08", "2026-05-09"),
    ("a few Fridays ago", "2026-04-10", "2026-05-09"),
    ("the last two Fridays", "2026-05-08", "2026-05-16"),
    ("the past three Wednesdays", "2026-04-29", "2026-05-14"),
    ("the last couple of weekends", "2026-05-09", "2026-05-18"),
    ("these past few Mondays", "2026-04-13", "2026-05-19"),
    ("前两个周五", "2026-05-08", "2026-05-16"),
    ("前三个周一", "2026-05-04", "2026-05-19"),
    ("前3个礼拜三", "2026-04-29", "2026-05-14"),
    ("前面三个周一", "2026-05-04", "2026-05-19"),
    ("上两个月", "2026-03-01", "2026-05-01"),
    ("上几周", "2026-04-06", "2026-05-18"),
    ("Friday two weeks back", "2026-05-08", "2026-05-09"),
    ("two weeks back on Friday", "2026-05-08", "2026-05-09"),
    ("前几个周五", "2026-04-10", "2026-05-16"),
    ("前一个周五", "2026-05-15", "2026-05-16"),
    ("上一个周三", "2026-05-13", "2026-05-14"),
    ("上两个星期天", "2026-05-10", "2026-05-18"),
    ("过去两个周末", "2026-05-09", "2026-05-18"),
    ("最近三个周三", "2026-05-06", "2026-05-21"),
    ("这两个周五", "2026-05-08", "2026-05-16"),
    ("最近这两个周五", "2026-05-08", "2026-05-16"),
    ("两个周末前", "2026-05-09", "2026-05-11"),
    ("两三个周五前", "2026-05-01", "2026-05-09"),
    ("几个周五以前", "2026-04-10", "2026-05-09"),
    ("三周前的周末", "2026-05-02", "2026-05-04"),
    ("上上上周五", "2026-05-01", "2026-05-02"),
    ("上上上个周末", "2026-05-02", "2026-05-04"),
    ("上上上个月", "2026-02-01", "2026-03-01"),
    ("大前天", "2026-05-17", "2026-05-18"),
    ("大大前天", "2026-05-16", "2026-05-17"),
    ("前前天", "2026-05-17", "2026-05-18"),
    ("大前年", "2023-01-01", "2024-01-01"),
    ("大前年三月", "2023-03-01", "2023-04-01"),
    ("大前年夏天", "2023-06-01", "2023-09-01"),
    ("前年国庆", "2024-10-01", "2024-10-08"),
    ("大前年国庆", "2023-10-01", "2023-10-08"),
    ("上週五", "2026-05-15", "2026-05-16"),
    ("前兩個禮拜五", "2026-05-08", "2026-05-16"),
    ("這個月", "2026-05-01", "2026-06-01"),
    ("去年聖誕節", "2025-12-24", "2025-12-27"),
    ("３個月前", "2026-02-01", "2026-03-01"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "first", "past"), COUNTED)
def test_days_are_counted(expression: str, first: str, past: str) -> None:
    assert days(f"{expression}") == (first, past)
    found = find_time(expression, now=NOW, zone=UTC)
    assert found is not None
    assert found.rest == ""


NEW_YORK, BERLIN, LONDON, SHANGHAI = (
    ZoneInfo(name) for name in ("America/New_York", "Europe/Berlin", "Europe/London", "Asia/Shanghai")
)
# Expression, zone, locale, first day, the day after the last one.
FIGURES: list[tuple[str, tzinfo, str | None, str, str]] = [
    ("on 3/4", UTC, None, "2026-03-04", "2026-03-05"),
    ("on 3/4", NEW_YORK, None, "2026-03-04", "2026-03-05"),
    ("on 3/4", BERLIN, None, "2026-04-03", "2026-04-04"),
    ("on 3/4", LONDON, "en-US", "2026-03-04", "2026-03-05"),
    ("on 3/4", NEW_YORK, "en_GB.UTF-8", "2026-04-03", "2026-04-04"),
    ("on 3/4", UTC, "de", "2026-04-03", "2026-04-04"),
    ("on 3/4", UTC, "en", "2026-03-04", "2026-03-05"),
    ("on 3/4/2026", UTC, "fr-FR", "2026-04-03", "2026-04-04"),
    ("3/4/2025", UTC, None, "2025-03-04", "2025-03-05"),
    ("on 3/4/26", LONDON, None, "2026-04-03", "2026-04-04"),
    ("13.2.2026", UTC, None, "2026-02-13", "2026-02-14"),
    ("3.4.2026", NEW_YORK, None, "2026-04-03", "2026-04-04"),
    ("03-04-2026", BERLIN, None, "2026-04-03", "2026-04-04"),
    ("on 15/2/2026", NEW_YORK, "en-US", "2026-02-15", "2026-02-16"),
    ("on 2/15/2026", BERLIN, "de-DE", "2026-02-15", "2026-02-16"),
    ("from 3/4 to 3/9", UTC, None, "2026-03-04", "2026-03-10"),
    ("from 3/4 to 4/4", LONDON, None, "2026-04-03", "2026-04-05"),
    ("from 3/4 to 19/4", UTC, None, "2026-04-03", "2026-04-20"),
    ("from 3/4 to 3/19", LONDON, None, "2026-03-04", "2026-03-20"),
    ("between 3/4 and 3/9", NEW_YORK, None, "2026-03-04", "2026-03-10"),
    ("3/4–3/9", NEW_YORK, None, "2026-03-04", "2026-03-10"),
    ("from 12/28 to 1/3", NEW_YORK, None, "2025-12-28", "2026-01-04"),
    ("from 3/4/2025 to 3/9/2025", NEW_YORK, None, "2025-03-04", "2025-03-10"),
    ("from 12/28 to 1/3/2025", NEW_YORK, None, "2024-12-28", "2025-01-04"),
    ("在3/4那天", LONDON, None, "2026-03-04", "2026-03-05"),
    ("3/4到3/9说了什么", SHANGHAI, None, "2026-03-04", "2026-03-10"),
    ("从3/4到3/9", SHANGHAI, "en-GB", "2026-03-04", "2026-03-10"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "zone", "locale", "first", "past"), FIGURES)
def test_figures_are_dates_by_evidence(
    expression: str, zone: tzinfo, locale: str | None, first: str, past: str
) -> None:
    assert days(expression, zone=zone, locale=locale) == (first, past)


@pytest.mark.parametrize(
    "question",
    [
        "three quarters of a 3/4 cup", "a 1/2 - 3/4 inch pipe", "version 3.4.26", "at 10.0.0.1", "on 13/13", "24/7",
        "is it 16/9 or 21/9", "may 3-7 items fail", "steps 3-7 may fail", "src/3/4/2026.py", "the ratio 3/4 of 5/6",
        "图3/4的说明", "on 31/2/2026", "花了三个周一", "每个周末的例会", "那是一个周五", "上线前两个周五",
        "线上两个周末的用量",
        "用了两个周末重构", "上两天班", "上几年学", "three Fridays of work", "the last two Fridayish builds",
    ],
)  # fmt: skip
def test_what_is_no_date_is_left(question: str) -> None:
    assert find_time(question, now=NOW, zone=UTC) is None


@pytest.mark.parametrize(
    ("text", "zone", "locale", "order"),
    [
        ("on 3/4", "", None, "month first"), ("on 3/4", "Etc/UTC", None, "month first"),
        ("on 3/4", "America/Toronto", None, "month first"), ("on 3/4", "America/Sao_Paulo", None, "day first"),
        ("on 3/4", "Asia/Tokyo", None, "month first"), ("on 3/4", "Asia/Kolkata", None, "day first"),
        ("on 3/4", "Europe/Paris", "zh-Hans-CN", "month first"), ("on 3/4", "Europe/Paris", "es-US", "month first"),
        ("on 3/4 and 24/7", "Europe/Paris", None, "day first"), ("on 25/4, then 4/25", "", None, "month first"),
        ("on 3/4", "Europe/Paris", "C.UTF-8", "day first"), ("on 3/4", "Europe/Paris", "*", "day first"),
    ],
)  # fmt: skip
def test_the_order_of_figures_is_told(text: str, zone: str, locale: str | None, order: str) -> None:
    assert order_of(text, zone=zone, locale=locale) == order
