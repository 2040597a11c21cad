"""Time expressions in Chinese, each with its span of the calendar."""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Final

from querymill_workers.retrievers.conversations.rules.times.chinese_numerals import between, digits, number
from querymill_workers.retrievers.conversations.rules.times.spans import (
    DAY,
    FEW,
    WEEK,
    TimeSpan,
    Unit,
    ago,
    day,
    guessed_ago,
    latest,
    latest_weekday,
    latest_weekend,
    month,
    months,
    past,
    week,
    weekend,
)

#: A pattern, and a function that gives the span of a match. None means no time, and hides the words from other rules.
Rule = tuple[re.Pattern[str], Callable[[re.Match[str], datetime], TimeSpan | None]]

NUMERAL: Final = "[0-9]{1,3}|[一二两三四五六七八九十]{1,4}"
#: From one number to another: 2-3, 两到三.
_TO: Final = " ?[-–—~～到至] ?"
_NUMBER: Final = f"(?:(?P<n>{NUMERAL})|(?P<few>几|数|好几))"
_UNIT: Final = "(?:个)?(?P<unit>分钟|小时|钟头|天|日|周|星期|礼拜|月|季度|年)"
_UNITS: Final[Mapping[str, Unit]] = {
    "分钟": "minute", "小时": "hour", "钟头": "hour", "天": "day", "日": "day", "周": "week", "星期": "week",
    "礼拜": "week", "月": "month", "季度": "quarter", "年": "year",
}  # fmt: skip
_DAYS_BACK: Final = {"今": 0, "昨": 1, "前": 2, "前前": 3, "大前": 3, "大大前": 4}
WEEKDAYS: Final = {
    name: number for number, names in enumerate(("一1", "二2", "三3", "四4", "五5", "六6", "日天7")) for name in names
}
WEEK_WORD: Final = "(?:周|星期|礼拜)"
WEEKDAY: Final = "(?P<weekday>[一二三四五六日天1-6])"
# 一周三次, 每周三 and 用了三个周三 are not a Wednesday, and no conversation is from 下周三 yet.
_NO_WEEKDAY: Final = "(?<![0-9一二两三四五六七八九十几数每下半])(?<![0-9一二两三四五六七八九十几每下]个)"
AFTER_WEEKDAY: Final = "(?![0-9一二三四五六七八九十]|次|个|天|遍|年|月|志|报|刊)"
_MONTH: Final = "(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])"
_DAY_NUMBER: Final = "[12][0-9]|3[01]|0?[1-9]|二?十[一二三四五六七八九]?|三十一?|[一二三四五六七八九]"
_DAY: Final = f"(?P<day>{_DAY_NUMBER})[日号]"
_DAYS: Final = f"(?P<day>{_DAY_NUMBER})[日号]?{_TO}(?P<last>{_DAY_NUMBER})[日号]"
_ZERO_TO_NINE: Final = "[〇零○一二三四五六七八九]"
#: A year by its last two digits: 24年, 二四年. But 用了24年 is a duration.
_SHORT_YEAR: Final = f"(?<![0-9〇零○一二两三四五六七八九十百了])(?P<short>[0-9]{{2}}|[〇零○一二]{_ZERO_TO_NINE})"
YEAR: Final = f"(?P<year>(?:19[89]|20[0-9])[0-9]|二[〇零○]{_ZERO_TO_NINE}{{2}}|{_SHORT_YEAR})年"
WHICH_YEAR: Final = "(?P<which>今|去|大前|前前|(?<![大前])前)年"
#: After another word 前 counts back from that: 上线前两天 is two days before the launch.
FROM_NOW: Final = "(?:(?<![\u4e00-\u9fff])|(?<=[我你您他她们咱在从是就的]))"
NO_NUMBER: Final = "(?<![0-9A-Za-z一二三四五六七八九十.第个每])"
YEARS_BACK: Final = {"今": 0, "去": 1, "前": 2, "前前": 3, "大前": 3}
_PARTS: Final = {
    "凌晨": (0.0, 6.0), "清晨": (5.0, 9.0), "早上": (6.0, 12.0), "早晨": (6.0, 12.0), "早": (6.0, 12.0),
    "上午": (6.0, 12.0), "中午": (11.0, 14.0), "下午": (12.0, 18.0), "傍晚": (17.0, 20.0), "晚上": (18.0, 24.0),
    "晚": (18.0, 24.0), "夜里": (18.0, 24.0), "半夜": (0.0, 6.0),
}  # fmt: skip
_PART: Final = "(?P<part>凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|半夜|早|晚)"
_AFTER_NOON: Final = {"中午", "下午", "傍晚", "晚上", "晚", "夜里"}
_NOON: Final = 12
#: A year of two digits is at most this many years in the future.
_NEAR_YEARS: Final = 10


def _rule(pattern: str, span_of: Callable[[re.Match[str], datetime], TimeSpan | None]) -> Rule:
    return re.compile(pattern), span_of


def _unit(match: re.Match[str]) -> Unit:
    return _UNITS[match["unit"]]


def _counts(match: re.Match[str]) -> tuple[int, int]:
    return FEW if match["few"] else between(match["n"])


def _so_long_ago(match: re.Match[str], now: datetime) -> TimeSpan:
    return guessed_ago(now, _unit(match), *_counts(match))


def _between_ago(match: re.Match[str], now: datetime) -> TimeSpan:
    counts = (*between(match["least"]), *_counts(match))
    return guessed_ago(now, _unit(match), min(counts), max(counts))


def _before_this(match: re.Match[str], now: datetime) -> TimeSpan:
    """Return the units before the current one. *Decided*: 前两天 is yesterday and the day before, 前几天 six days."""
    return guessed_ago(now, _unit(match), 1, _counts(match)[1])


def _past(match: re.Match[str], now: datetime) -> TimeSpan:
    return past(now, _unit(match), _counts(match)[1])


def _named_day(match: re.Match[str], now: datetime) -> TimeSpan:
    return ago(now, "day", _DAYS_BACK[match["which"]])


def _back(which: str) -> int:
    """Return how many units back 上 (1), 上上 (2) and so on lead; 这 and 本 are the current one."""
    return which.count("上")


def _named_unit(match: re.Match[str], now: datetime) -> TimeSpan:
    return ago(now, _unit(match), _back(match["which"]))


def _weekday(match: re.Match[str], now: datetime) -> TimeSpan:
    place = WEEKDAYS[match["weekday"]]
    if which := match["which"]:
        return day(week(now.date() - _back(which) * WEEK).start.date() + place * DAY)
    return latest_weekday(now, place)


def _weekend(match: re.Match[str], now: datetime) -> TimeSpan:
    which = match["which"]
    return weekend(now, _back(which)) if which else latest_weekend(now)


def year_of(match: re.Match[str], now: datetime) -> int | None:
    """Return the year that an expression names, or None if it names none."""
    if which := match["which"]:
        return now.year - YEARS_BACK[which]
    if not match["year"]:
        return None
    year = digits(match["year"])
    return year if len(match["year"]) > 2 else _of_two_digits(year, now)


def _of_two_digits(year: int, now: datetime) -> int:
    """Choose the century that gives the latest year at most ten years from now."""
    near = now.year + _NEAR_YEARS
    return near - (near - year) % 100


def _month(match: re.Match[str], now: datetime) -> TimeSpan:
    year, month_number = year_of(match, now), number(match["month"])
    return latest(now, lambda this: month(this, month_number)) if year is None else month(year, month_number)


def _date(match: re.Match[str], now: datetime) -> TimeSpan:
    year, month_number, written = year_of(match, now), number(match["month"]), number(match["day"])
    if year is None:
        return latest(now, lambda this: day(date(this, month_number, written)))
    return day(date(year, month_number, written))


def _days(match: re.Match[str], now: datetime) -> TimeSpan:
    year, month_number = year_of(match, now), number(match["month"])
    first, last = number(match["day"]), number(match["last"])

    def candidate(this: int) -> TimeSpan:
        ends = month(this, month_number + int(last < first)).start.date().replace(day=last)
        return TimeSpan(day(date(this, month_number, first)).start, day(ends).end)

    return latest(now, candidate) if year is None else candidate(year)


def _year(match: re.Match[str], now: datetime) -> TimeSpan | None:
    year = year_of(match, now)
    if match["short"] and not match["half"] and not 0 <= now.year - (year or 0) <= _NEAR_YEARS:
        return None  # a duration: 30年
    first, count = {"上": (1, 6), "下": (7, 6), None: (1, 12)}[match["half"]]
    return months(now.year if year is None else year, first, count)


def _quarter(match: re.Match[str], now: datetime) -> TimeSpan:
    year, first = year_of(match, now), 3 * number(match["quarter"]) - 2
    return latest(now, lambda this: months(this, first, 3)) if year is None else months(year, first, 3)


def hours(match: re.Match[str]) -> tuple[float, float] | None:
    """Read a time of day as its first hour and the hour at its end, or return None if there is no such time."""
    part = match["part"]
    if not match["hour"]:
        return _PARTS[part] if part else None
    try:
        first, last = between(match["hour"])
        minute = 30 if match["half"] else number(match["minute"]) if match["minute"] else 0
    except ValueError:
        return None
    later = _after_noon(part, last) + minute / 60
    if last + later >= 2 * _NOON + 1 or minute >= 60:
        return None
    return first + later, last + later + 1


def _after_noon(part: str | None, hour: int) -> int:
    """Return the hours to add for a part of the day: 下午三点 is 15:00, but 中午十一点 is 11:00."""
    return _NOON if part in _AFTER_NOON and hour < (10 if part == "中午" else _NOON) else 0


#: A time of day right after a day.
CLOCK: Final = (
    re.compile(
        f" *的? *{_PART}?(?: *(?P<hour>[0-2]?[0-9]|[一二两三四五六七八九十]{{1,2}})(?:[点时]|(?=:[0-9]{{2}}))"
        "(?::?(?P<minute>[0-9]{1,2}|[一二三四五六七八九十]{2,3})分?|(?P<half>半)|整|钟)?)?"
    ),
    hours,
)
_OPTIONAL_YEAR: Final = f"(?:{YEAR}|{WHICH_YEAR})?的?"
_WHICH: Final = "(?P<which>上{1,4}|这|本)"

RULES: Final[tuple[Rule, ...]] = (
    _rule("(?<![以之目])(?P<which>今|昨|大大前|(?<!大)大前|前前|(?<![大前])前)(?:[天日]|(?=[早晚]))", _named_day),
    _rule("刚才|刚刚才|方才", lambda _, now: past(now, "hour", 1)),
    _rule(f"(?<![0-9A-Za-z第百一二两三四五六七八九十]){_NUMBER} ?{_UNIT}(?:之|以)?前(?![端后面台缀者])", _so_long_ago),
    _rule(
        f"(?<![0-9A-Za-z第百一二两三四五六七八九十])(?P<least>{NUMERAL}){_TO}{_NUMBER} ?{_UNIT}(?:之|以)?前"
        "(?![端后面台缀者])",
        _between_ago,
    ),
    _rule(
        f"{FROM_NOW}(?:前|上(?!.个?[天日年]))(?:(?P<n>两)|(?P<few>几))个?(?P<unit>天|日|周|星期|礼拜|月|年)"
        "(?![一二三四五六日])",
        _before_this,
    ),
    _rule("半个?小时(?:之|以)?前", lambda _, now: ago(now, "minute", 30)),
    _rule("半年(?:之|以)?前", lambda _, now: ago(now, "month", 6)),
    _rule(f"(?:最近|近|过去|这)的? ?(?:(?:{NUMERAL}){_TO})?{_NUMBER} ?{_UNIT}(?!前)", _past),
    _rule("(?:最近|近|过去)半年", lambda _, now: past(now, "month", 6)),
    _rule(f"{_WHICH}一?个?(?P<unit>周|星期|礼拜|月|季度)(?![一二三四五六日天1-6末边期])", _named_unit),
    _rule(
        f"(?:{_WHICH}个?|{_NO_WEEKDAY})(?:周|星期)末|(?P<no>下个?周末)",
        lambda match, now: None if match["no"] else _weekend(match, now),
    ),
    _rule(f"{_WHICH}个?{WEEK_WORD}{WEEKDAY}{AFTER_WEEKDAY}", _weekday),
    _rule(f"{_NO_WEEKDAY}(?P<which>){WEEK_WORD}{WEEKDAY}{AFTER_WEEKDAY}", _weekday),
    _rule(f"{NO_NUMBER}{_OPTIONAL_YEAR}{_MONTH} ?月(?:份)?(?![球亮饼卡票薪租度经食光老饷色])", _month),
    _rule(f"{NO_NUMBER}{_OPTIONAL_YEAR}{_MONTH} ?月 ?{_DAY}", _date),
    _rule(f"{NO_NUMBER}{_OPTIONAL_YEAR}{_MONTH} ?月 ?{_DAYS}", _days),
    _rule(
        f"{NO_NUMBER}(?:{YEAR}|{WHICH_YEAR})(?:(?P<half>上|下)半年)?(?!代)(?(short)(?![多来内后间经]))",
        _year,
    ),
    _rule("(?<![A-Za-z0-9])(?P<year>)(?P<short>)(?P<which>)(?P<half>上|下)半年", _year),
    _rule(f"{_OPTIONAL_YEAR}第?(?P<quarter>[一二三四1-4])季度", _quarter),
)
