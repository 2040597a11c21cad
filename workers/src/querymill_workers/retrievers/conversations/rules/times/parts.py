"""Parts of a week, month, quarter or year: "early March", "mid 2025", "the end of last month", 七月中旬, 去年年底.

*Decided*: a month has three parts of ten days, the last one with the days that are left. A week is early until Tuesday
and late from Friday. Longer spans have three parts of equally many months.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Final, Literal

from querymill_workers.retrievers.conversations.rules.times.spans import DAY, TimeSpan, days, months

Part = Literal["early", "mid", "late"]

_ENGLISH: Final = re.compile(
    r"(?<![A-Za-z0-9_])(?:the )?(?:(?P<part>early|mid|late)(?:[- ]| in )"
    r"|(?:(?:very|right at the) )?(?P<edge>beginning|start|middle|end) of )(?:the )?$",
    re.IGNORECASE,
)
_CHINESE: Final = re.compile(
    "的?(?:(?P<early>初|上旬|年初|月初)|(?P<mid>中旬|年中|月中)|(?P<late>下旬|年底|年末|月底|月末|底|末))"
)
_PARTS: Final[Mapping[str, Part]] = {
    "early": "early", "beginning": "early", "start": "early", "mid": "mid", "middle": "mid", "late": "late",
    "end": "late",
}  # fmt: skip
_LONGEST_WEEK: Final = 7
_MONTH_DAYS: Final = range(28, 32)


def part_of(span: TimeSpan, part: Part) -> TimeSpan | None:
    """Return a part of a week, a month, or several months in multiples of three; None for any other span."""
    first, count = span.start.date(), (span.end - span.start).days
    if span.start != span.start.replace(hour=0, minute=0, second=0, microsecond=0):
        return None
    if count == _LONGEST_WEEK:
        begins, length = {"early": (0, 2), "mid": (2, 2), "late": (4, 3)}[part]
        found = days(first + begins * DAY, length)
    elif count in _MONTH_DAYS and first.day == 1:
        begins, length = {"early": (0, 10), "mid": (10, 10), "late": (20, count - 20)}[part]
        found = days(first + begins * DAY, length)
    elif first.day == 1 and (third := _months_in(span) // 3):
        found = months(first.year, first.month + third * ("early", "mid", "late").index(part), third)
    else:
        return None
    return replace(found, every=span.every)


def _months_in(span: TimeSpan) -> int:
    first, past = span.start.date(), span.end.date()
    return 12 * (past.year - first.year) + past.month - first.month if past.day == 1 else 0


def narrow(text: str, first: int, end: int, span: TimeSpan) -> tuple[int, int, TimeSpan]:
    """Narrow the span of an expression by the words around it, which then belong to it."""
    before = _ENGLISH.search(text, max(first - 32, 0), first)
    if before is not None:
        named = (before["part"] or before["edge"]).lower()
        found = part_of(span, _PARTS[named])
        if found is not None:
            return before.start(), end, found
    after = _CHINESE.match(text, end)
    if after is not None and (found := part_of(span, _PARTS[str(after.lastgroup)])) is not None:
        return first, after.end(), found
    return first, end, span


def latest_part(now: date, part: Part, *, of: Literal["month", "year"]) -> TimeSpan | None:
    """Return the latest such part of a month or year that has begun."""
    for back in (0, 1):
        whole = months(now.year, now.month - back, 1) if of == "month" else months(now.year - back, 1, 12)
        found = part_of(whole, part)
        if found is not None and found.start.date() <= now:
            return found
    return None
