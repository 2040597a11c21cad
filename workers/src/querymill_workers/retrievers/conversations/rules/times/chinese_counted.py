"""Days of the week that are counted in Chinese: 前三个周一, 两个周五前, 两周前的周五, 最近两个周末."""

import re
from datetime import datetime
from typing import Final

from querymill_workers.retrievers.conversations.rules.times.chinese import (
    AFTER_WEEKDAY,
    FROM_NOW,
    NUMERAL,
    WEEK_WORD,
    WEEKDAY,
    WEEKDAYS,
    Rule,
)
from querymill_workers.retrievers.conversations.rules.times.chinese_numerals import between
from querymill_workers.retrievers.conversations.rules.times.spans import (
    DAY,
    FEW,
    WEEK,
    TimeSpan,
    day,
    latest_weekday,
    latest_weekend,
    week,
    weekend,
)

_COUNT: Final = f"(?:(?P<n>{NUMERAL})|(?P<few>好?几))"
_NO_NUMERAL: Final = "(?<![0-9一二两三四五六七八九十百第好])"
_WEEKEND: Final = "(?:周|星期|礼拜)末"
_DAY: Final = f"(?:{WEEK_WORD}{WEEKDAY}{AFTER_WEEKDAY}|{_WEEKEND})"
_AGO: Final = "(?:之|以)?前"


def _counts(match: re.Match[str]) -> tuple[int, int]:
    return FEW if match["few"] else between(match["n"])


def _of_week(match: re.Match[str], now: datetime, back: int) -> TimeSpan:
    """Return the day, or the weekend, of the calendar week so many weeks back."""
    if match["weekday"] is None:
        return weekend(now, back)
    return day(week(now.date() - back * WEEK).start.date() + WEEKDAYS[match["weekday"]] * DAY)


def _latest(match: re.Match[str], now: datetime, *, counts_today: bool) -> TimeSpan:
    if match["weekday"] is None:
        return latest_weekend(now) if counts_today else weekend(now, 1)
    return latest_weekday(now if counts_today else now - DAY, WEEKDAYS[match["weekday"]])


def _weeks_ago(match: re.Match[str], now: datetime) -> TimeSpan:
    least, most = _counts(match)
    return TimeSpan(_of_week(match, now, most).start, _of_week(match, now, least).end)


def _days_ago(match: re.Match[str], now: datetime) -> TimeSpan:
    """*Decided*: 两个周五前 is the Friday before the latest one; today does not count."""
    last, (least, most) = _latest(match, now, counts_today=False), _counts(match)
    return TimeSpan(last.start - (most - 1) * WEEK, last.end - (least - 1) * WEEK)


def _last_ones(match: re.Match[str], now: datetime) -> TimeSpan:
    """*Decided*: 前三个周一 is from the third Monday back to the latest one. Today counts for 最近, 近 and 这 only."""
    last = _latest(match, now, counts_today=match["lately"] is not None)
    return TimeSpan(last.start - (_counts(match)[1] - 1) * WEEK, last.end)


RULES: Final[tuple[Rule, ...]] = (
    (
        re.compile(
            f"(?:{FROM_NOW}(?:前面?|上|[之此以]前)|过去|(?P<lately>最近这?|这|{FROM_NOW}近))的? ?{_COUNT}个{_DAY}"
        ),
        _last_ones,
    ),
    (re.compile(f"{_NO_NUMERAL}(?<![前上]){_COUNT}个{_DAY}{_AGO}"), _days_ago),
    (re.compile(f"{_NO_NUMERAL}{_COUNT}个?{WEEK_WORD}{_AGO}的? ?{_DAY}"), _weeks_ago),
)
