"""Vaguer time expressions in Chinese: 最近, 去年夏天, 14号, 月初, 年底, 一个多月前, 半个月前."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from querymill_workers.retrievers.conversations.rules.times.chinese import (
    NO_NUMBER,
    NUMERAL,
    WHICH_YEAR,
    YEAR,
    Rule,
    year_of,
)
from querymill_workers.retrievers.conversations.rules.times.chinese_numerals import between, number
from querymill_workers.retrievers.conversations.rules.times.parts import Part, latest_part
from querymill_workers.retrievers.conversations.rules.times.spans import (
    DAY,
    TimeSpan,
    Unit,
    and_a_half_ago,
    around,
    days,
    guessed_ago,
    latest,
    latest_day_of_month,
    past,
    season,
)

_SEASONS: Final = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}
_SEASON: Final = "(?P<season>春|夏|秋|冬)(?:天|季)"
_UNITS: Final[Mapping[str, Unit]] = {
    "天": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"
}  # fmt: skip
_UNIT: Final = "|".join(_UNITS)
_HALVED: Final[Mapping[str, Unit]] = {**_UNITS, "小时": "hour", "钟头": "hour"}
_PARTS: Final[Mapping[str, Part]] = {
    "初": "early", "上旬": "early", "中": "mid", "中旬": "mid", "底": "late", "末": "late", "下旬": "late",
}  # fmt: skip
_DAY: Final = "(?P<day>[12][0-9]|3[01]|0?[1-9]|二?十[一二三四五六七八九]?|三十一?)"
#: What makes a number with 号 a name: 3号线, 14号楼, 1号机.
_NAMES: Final = "楼线机房院床店位字码员选门馆厅桌车船文令志本语报常记期"
_NO_DIGIT: Final = "(?<![0-9A-Za-z月第〇零一二三四五六七八九十.年/-])"


def _recently(_: re.Match[str], now: datetime) -> TimeSpan:
    """*Decided*: 最近 is two weeks, up to today, as "recently"."""
    return past(now, "week", 2)


def _a_while_ago(_: re.Match[str], now: datetime) -> TimeSpan:
    """*Decided*: 前阵子 is the two months before the last three days."""
    return days(now.date() - 63 * DAY, 60)


def _season(match: re.Match[str], now: datetime) -> TimeSpan:
    name, year = _SEASONS[match["season"]], year_of(match, now)
    return latest(now, lambda this: season(this, name)) if year is None else season(year, name)


def _last_season(match: re.Match[str], now: datetime) -> TimeSpan:
    name = _SEASONS[match["season"]]
    found = latest(now, lambda this: season(this, name))
    return season(found.start.year - 1, name) if match["last"] and found.end > now else found


def _day_of_month(match: re.Match[str], now: datetime) -> TimeSpan:
    return latest_day_of_month(now, number(match["day"]))


def _part_of_month(match: re.Match[str], now: datetime) -> TimeSpan | None:
    return latest_part(now.date(), _PARTS[match["tenth"] or match["part"]], of="month")


def _part_of_year(match: re.Match[str], now: datetime) -> TimeSpan | None:
    return latest_part(now.date(), _PARTS[match["part"]], of="year")


def _more_than(match: re.Match[str], now: datetime) -> TimeSpan:
    """Return the span of 一个多月前: between one and two months ago."""
    count = between(match["n"])[1]
    return guessed_ago(now, _UNITS[match["unit"]], count, count + 1)


def _half_a_month_ago(match: re.Match[str], now: datetime) -> TimeSpan:
    """Return the span around 15 days ago, or the days before that for 半个多月前."""
    return around(now - (20 if match["more"] else 15) * DAY, 5 * DAY)


def _and_a_half(match: re.Match[str], now: datetime) -> TimeSpan:
    """Return the span of 两个半月前: 75 days, as "two and a half months ago"."""
    return and_a_half_ago(now, _HALVED[match["unit"] or match["day"]], number(match["n"]))


RULES: Final[tuple[Rule, ...]] = (
    # 最近邻 and 最近公共祖先 are the nearest; 最近使用 is a cache.
    (
        re.compile(
            "(?<!距离)(?:最近|近来|近期|这阵子|这段时间|这些天|这几天)(?![邻公祖点距的使一二两三四五六七八九十几数0-9半])"
        ),
        _recently,
    ),
    # 离我最近的酒店 is the nearest one, so what was talked about or worked on must follow.
    (
        re.compile(
            "(?<!离我)(?:最近|近期)的(?=对话|会话|讨论|聊天|问题|工作|改动|提交|记录|消息|项目|登录|修复|变更|发布|任务|会议|部署|测试|优化"
            "|重构|设计|决定|进展|故障|报错|错误|需求|计划|审查|评审)"
        ),
        _recently,
    ),
    (re.compile("前(?:一?阵子?|(?:一)?段(?:时间|日子)|些(?:天|日子))"), _a_while_ago),
    (re.compile(f"{NO_NUMBER}(?:{YEAR}|{WHICH_YEAR})的?{_SEASON}"), _season),
    (re.compile(f"(?:(?P<last>上个?)|这个?){_SEASON}"), _last_season),
    (re.compile(f"{_NO_DIGIT}{_DAY}[号日](?![{_NAMES}0-9A-Za-z])"), _day_of_month),
    (
        re.compile(
            f"{_NO_DIGIT}(?:(?<![个上本这])(?:这个|本)?月(?P<part>初|底|末|中旬?)|(?P<tenth>[上中下]旬))(?![级央文心])"
        ),
        _part_of_month,
    ),
    (re.compile(f"{_NO_DIGIT}(?<![今去前])年(?P<part>初|底|末|中)(?![级央文薪])"), _part_of_year),
    (re.compile(f"(?<![0-9A-Za-z第])(?P<n>{NUMERAL})(?:个多|多个?)(?P<unit>{_UNIT})(?:之|以)?前"), _more_than),
    (re.compile(f"(?<![0-9A-Za-z第])(?P<n>{NUMERAL})个?(?P<unit>{_UNIT})多(?:之|以)?前"), _more_than),
    (
        re.compile(
            f"(?<![0-9A-Za-z第百])(?P<n>{NUMERAL})(?:个半(?P<unit>月|小时|钟头|星期|礼拜)|(?P<day>天|周|年)半)(?:之|以)?前"
        ),
        _and_a_half,
    ),
    (re.compile("(?<!个)半个(?P<more>多)?月(?:之|以)?前"), _half_a_month_ago),
)
