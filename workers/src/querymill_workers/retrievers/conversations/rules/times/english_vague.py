"""Vaguer time expressions in English: recently, last summer, the 14th, a fortnight ago, the week of July 13."""

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Final, cast

from querymill_workers.retrievers.conversations.rules.times.english import (
    COUNT,
    MONTH,
    MONTHS,
    WEEKDAY,
    WEEKDAYS,
    YEAR,
    Rule,
    count_of,
    rule,
)
from querymill_workers.retrievers.conversations.rules.times.parts import Part, latest_part
from querymill_workers.retrievers.conversations.rules.times.spans import (
    DAY,
    WEEK,
    TimeSpan,
    Unit,
    ago,
    and_a_half_ago,
    day,
    days,
    latest,
    latest_day_of_month,
    latest_weekday,
    month,
    months,
    months_before,
    past,
    season,
    week,
    weekend,
)

#: What follows a day of the month, as nothing else does: "the 14th element" is no day.
_AFTER_DAY: Final = (
    r"(?= *(?:$|[,.?!;:)]|(?:at|about|and|to|till|until|through|did|do|we|i|you|was|were|in the)(?![A-Za-z])))"
)
_ORDINAL: Final = "(?P<day>[12]?[0-9]|3[01])(?:st|nd|rd|th)"
_SEASON: Final = "(?P<season>spring|summer|autumn|fall|winter)"
_QUARTERS: Final[Mapping[str, int]] = {
    "first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": 4,
}  # fmt: skip
_LAST_MONTH: Final = 12
#: 24/7, 16/9 and 21/9 are no days.
_RATIOS: Final = frozenset({(24, 7), (16, 9), (21, 9), (16, 10)})
#: What is of a day or of a quarter if it follows at once: "the 7/14 standup".
_TALK: Final = (
    "(?= *(?:$|[,?!;)]|(?:did|do|we|i|you|was|were|about|standup|meeting|session|chat|conversation|discussion|decision"
    "|call|work|incident|outage)s?(?![A-Za-z])))"
)
_EDGES: Final[Mapping[str, Part]] = {"beginning": "early", "start": "early", "middle": "mid", "end": "late"}


def _recently(_: re.Match[str], now: datetime) -> TimeSpan:
    """*Decided*: "recently" is two weeks, up to today."""
    return past(now, "week", 2)


def _other_day(_: re.Match[str], now: datetime) -> TimeSpan:
    """*Decided*: "the other day" is one of the seven days before today."""
    return days(now.date() - WEEK, 7)


def _season(match: re.Match[str], now: datetime) -> TimeSpan:
    name = match["season"].lower()
    if match["year"]:
        return season(int(match["year"]), name)
    found = latest(now, lambda year: season(year, name))
    if (match["which"] or "").lower() in {"last", "past", "previous"} and found.end > now:
        return season(found.start.year - 1, name)
    return found


def _day_of_month(match: re.Match[str], now: datetime) -> TimeSpan:
    return latest_day_of_month(now, int(match["day"]))


def _month_and_day(match: re.Match[str], now: datetime) -> TimeSpan:
    """Read 7/14 as in the United States, and 14/7 as elsewhere."""
    first, second = int(match["first"]), int(match["second"])
    number, written = (first, second) if first <= _LAST_MONTH else (second, first)
    return latest(now, lambda year: day(date(year, number, written)))


def _bare_date(match: re.Match[str], now: datetime) -> TimeSpan | None:
    """Read 7/14 where it is a day and nothing else: one of its numbers is no month, and no such ratio is known."""
    written = (int(match["first"]), int(match["second"]))
    return None if max(written) <= _LAST_MONTH or written in _RATIOS else _month_and_day(match, now)


def _fortnights_ago(match: re.Match[str], now: datetime) -> TimeSpan:
    return ago(now, "week", 2 * count_of(match["n"]))


def _and_a_half(match: re.Match[str], now: datetime) -> TimeSpan:
    return and_a_half_ago(now, _unit_of(match), count_of(match["n"] or "one"))


def _day_ago(match: re.Match[str], now: datetime) -> TimeSpan:
    """Return the day that many weeks, months or years before today or yesterday."""
    today = now if match["day"].lower() == "today" else now - DAY
    return day(_back(today, match["unit"], count_of(match["n"])).date())


def _same_time(match: re.Match[str], now: datetime) -> TimeSpan:
    """*Decided*: "this time last year" is that day and a twelfth of the period around it; "this day" is the day."""
    then = _back(now, match["unit"], 1)
    if match["exactly"].lower() == "day":
        return day(then.date())
    margin = {"week": 0, "month": 2, "year": 15}[match["unit"].lower()]
    return TimeSpan(day(then.date()).start - margin * DAY, day(then.date()).end + margin * DAY)


def _back(now: datetime, unit: str, count: int) -> datetime:
    match unit.lower():
        case "week":
            return now - count * WEEK
        case "month":
            return months_before(now, count)
        case _:
            return months_before(now, 12 * count)


def _week_of(match: re.Match[str], now: datetime) -> TimeSpan:
    if match["month"]:
        number, written = MONTHS[match["month"].lower().rstrip(".")], int(match["day"])
        if match["year"]:
            return week(date(int(match["year"]), number, written))
        return latest(now, lambda year: week(date(year, number, written)))
    return week(date.fromisoformat(match["iso"]))


def _nth_week(match: re.Match[str], now: datetime) -> TimeSpan:
    """Return seven days of a month: the first to the seventh, and so on; the last ones for "last"."""
    number, nth = MONTHS[match["month"].lower().rstrip(".")], match["nth"].lower()

    def of(year: int) -> TimeSpan:
        whole = month(year, number)
        first = whole.end - WEEK if nth == "last" else whole.start + (_QUARTERS[nth] - 1) * WEEK
        return days(first.date(), 7)

    return of(int(match["year"])) if match["year"] else latest(now, of)


def _unit_of(match: re.Match[str]) -> Unit:
    return cast("Unit", match["unit"].lower())


def _weekday_before_last(match: re.Match[str], now: datetime) -> TimeSpan:
    return day((latest_weekday(now - DAY, WEEKDAYS[match["weekday"].lower()]).start - WEEK).date())


def _quarter(match: re.Match[str], now: datetime) -> TimeSpan:
    number = _QUARTERS[match["quarter"].lower()] if match["quarter"] else int(match["number"])
    year = match["year"]
    if not year and (match["which"] or "").lower() == "last":
        year = str(now.year - 1)
    return months(int(year), 3 * number - 2, 3) if year else latest(now, lambda this: months(this, 3 * number - 2, 3))


def _edge(match: re.Match[str], now: datetime) -> TimeSpan | None:
    part, unit = _EDGES[match["edge"].lower()], match["unit"].lower()
    return latest_part(now.date(), part, of="month" if unit == "month" else "year")


def _month(match: re.Match[str], now: datetime) -> TimeSpan:
    number = MONTHS[match["month"].lower().rstrip(".")]
    return latest(now, lambda year: month(year, number))


def _past_weekend(_: re.Match[str], now: datetime) -> TimeSpan:
    return weekend(now, 1)


_HALF_UNIT: Final = "(?P<unit>hour|day|week|month|year)s?"
_WHOLE_UNIT: Final = "(?P<unit>week|month|year)s?"
_DATE: Final = (
    f"(?:{MONTH} (?P<day>[12][0-9]|3[01]|0?[1-9])(?:st|nd|rd|th)?(?:,? {YEAR})?"
    "|(?P<iso>20[0-9]{2}-[0-9]{2}-[0-9]{2}))"
)
_QUARTER: Final = (
    f"(?P<quarter>{'|'.join(_QUARTERS)}) quarter(?P<number>)(?: of)?(?: {YEAR}| (?P<which>last|this) year)?"
)
_PART: Final = "(?:early|mid|late|beginning of|start of|middle of|end of)"

RULES: Final[tuple[Rule, ...]] = (
    # Not "the least recently used entry", nor "recently added files".
    rule("(?<!least )(?<!most )(?:recently|lately|these days)(?! [a-z]+ed(?![a-z]))", _recently),
    rule("the other day", _other_day),
    rule(f"(?:(?P<which>last|past|previous|this) ){_SEASON}(?P<year>)", _season),
    rule(
        f"(?:in|during|over|since|before|after|until) the (?P<at>){_SEASON}(?P<which>)(?: of)?(?: {YEAR})?{_AFTER_DAY}",
        _season,
    ),
    rule(f"{_SEASON}(?P<which>)(?: of)? {YEAR}", _season),
    rule(f"(?:on|since|before|after|until|till|from|to|by) the (?P<at>){_ORDINAL}{_AFTER_DAY}", _day_of_month),
    rule(f"the {_ORDINAL}(?= *(?:$|[?.!]))", _day_of_month),
    rule(
        "(?:on|since|before|after|until|from|to|by) (?P<at>)(?P<first>[0-9]{1,2})/(?P<second>[0-9]{1,2})(?!/)",
        _month_and_day,
    ),
    rule(f"(?:the )?(?P<first>[0-9]{{1,2}})/(?P<second>[0-9]{{1,2}})(?!/){_TALK}", _bare_date),
    # In capitals, and not "Q2: why ...", which numbers a question.
    rule(f"(?-i:Q)(?P<number>[1-4])(?P<quarter>)(?P<year>)(?P<which>){_TALK}", _quarter),
    rule(f"(?P<n>{COUNT}) fortnights? ago", _fortnights_ago),
    rule("(?:the )?(?:last|past) fortnight", _recently),
    rule(f"(?:(?P<n>{COUNT}) )?{_HALF_UNIT} and a half ago", _and_a_half),
    rule(f"(?P<n>{COUNT}) and a half {_HALF_UNIT} ago", _and_a_half),
    rule(f"(?P<n>{COUNT}) {_WHOLE_UNIT} ago (?P<day>today|yesterday)", _day_ago),
    rule("this (?P<exactly>time|day) last (?P<unit>week|month|year)", _same_time),
    rule(f"(?:the )?week of (?:the )?{_DATE}", _week_of),
    rule(f"(?:the )?{WEEKDAY} before last", _weekday_before_last),
    rule(f"(?:the )?{_QUARTER}", _quarter),
    rule("(?:the )?(?P<edge>beginning|start|middle|end) of the (?P<unit>month|year)", _edge),
    rule("the past weekend", _past_weekend),
    rule("earlier this (?P<unit>week|month|year)", lambda match, now: ago(now, _unit_of(match), 0)),
    rule(f"(?:the )?(?P<nth>first|second|third|fourth|last) week of {MONTH}(?: {YEAR})?", _nth_week),
    rule("(?:a while|some time) (?:ago|back)", lambda _, now: days(now.date() - 123 * DAY, 120)),
    rule(f"{_PART}[- ](?P<at>){YEAR}", lambda match, _: months(int(match["year"]), 1, 12)),
    rule(f"(?:early|mid|late)-(?P<at>){MONTH}", _month),
)
