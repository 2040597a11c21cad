"""Find the time that a question mentions: "last Tuesday at 3pm", "上周三下午三点", "since March", "2024-05"."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from itertools import islice
from typing import Final

from querymill_shared.values import value
from querymill_workers.retrievers.conversations.rules.times import chinese as times_chinese
from querymill_workers.retrievers.conversations.rules.times import (
    chinese_counted,
    chinese_vague,
    english_counted,
    english_vague,
    holidays,
    numeric,
    parts,
)
from querymill_workers.retrievers.conversations.rules.times import english as times_english
from querymill_workers.retrievers.conversations.rules.times.english import Rule
from querymill_workers.retrievers.conversations.rules.times.spans import DAY, TimeSpan
from querymill_workers.retrievers.conversations.rules.times.subjects import is_subject

#: Letters that the rules know in another form: figures in full width, and traditional Chinese characters.
_SAME: Final = str.maketrans(
    "０１２３４５６７８９：／－週禮個兩號點鐘時後從這幾數間內裡裏當過剛來會兒節陣聖誕慶勞動復萬雙長開現",
    "0123456789:/-周礼个两号点钟时后从这几数间内里里当过刚来会儿节阵圣诞庆劳动复万双长开现",
)
_CODE: Final = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
_RULES: Final = (
    *times_chinese.RULES, *chinese_counted.RULES, *chinese_vague.RULES, *times_english.RULES, *english_vague.RULES,
    *english_counted.RULES, *holidays.RULES,
)  # fmt: skip
# Words that are removed from the question together with a time expression.
_LEADING: Final = re.compile(
    r"(?:(?<![A-Za-z0-9_])(?:back in|in|on|at|during|from|over|within|around|about|of|for|by)(?: the)? +"
    "|(?:在|于|自从|自|从) *)$",
    re.IGNORECASE,
)
_TRAILING: Final = re.compile(" *(?:期间|里面|当中|之内|以内|的时候|那天|那会儿|的|里|内|中)|['’]s(?![A-Za-z])")
_SINCE: Final = re.compile(r"(?<![A-Za-z0-9_])(?:ever since|since|starting|as of)(?: the)? +$", re.IGNORECASE)
_AFTER: Final = re.compile(r"(?<![A-Za-z0-9_])(?:after|later than)(?: the)? +$", re.IGNORECASE)
_BEFORE: Final = re.compile(
    r"(?<![A-Za-z0-9_])(?:before|prior to|earlier than|until|till|up to)(?: the)? +$", re.IGNORECASE
)
_SINCE_ZH: Final = re.compile(" *(?:以来|至今|到现在|起|开始)")
_AFTER_ZH: Final = re.compile(" *(?:之后|以后)")
_BEFORE_ZH: Final = re.compile(" *(?:之前|以前)")
_FROM: Final = re.compile("(?:自从|自|从) *$")
#: An expression that has an end of its own: 3月3日到7日, 3/4-3/9.
_ENDS: Final = re.compile("[到至~～–—]|(?:月|/)[0-9]{1,2}[日号]? ?- ?[0-9]")
_BETWEEN: Final = re.compile(r"(?<![A-Za-z0-9_])between +$", re.IGNORECASE)
_JOINT: Final = re.compile(
    r" *(?:(?:to|(?P<list>and)|until|till|through)(?![A-Za-z0-9_])|[-–—~～到至]|(?P<list_zh>[和与])) *(?:the +)?",
    re.IGNORECASE,
)
#: Time expressions of a question that are looked at. No question has so many.
MAX_MENTIONS: Final = 50
#: How many characters before an expression are searched for words that belong to it.
_NEAR: Final = 32


@value
class TimeRange:
    """From ``start`` (inclusive) to ``end`` (exclusive), in UTC. None leaves that side open."""

    start: datetime | None
    end: datetime | None


@value
class Timed:
    """The time that a question means, the words that say so, and the question without these words."""

    range: TimeRange
    phrase: str
    rest: str


@value
class _Mention:
    """A time expression with its place in the text. None leaves a side open.

    ``as_of`` reads the expression again as if it had been said at another moment; ``every`` is the period of its span.
    """

    first: int
    past: int
    start: datetime | None
    end: datetime | None
    every: timedelta | None
    as_of: "Callable[[datetime], _Mention | None]"

    @property
    def begins(self) -> datetime:
        """When the time begins; the beginning of the calendar if that side is open."""
        return self.start or datetime.min  # noqa: DTZ901  # local, without a zone


def find_time(text: str, *, now: datetime, zone: tzinfo, locale: str | None = None) -> Timed | None:
    """Find the time that a question means, in Chinese, English or both, or return None if it mentions none.

    *Decided*: weeks are calendar weeks from Monday. "Last Tuesday" is the latest Tuesday before today, and 上周二 the
    Tuesday of last week. A month or day without a year is the latest that has begun. A clock time is the hour that
    begins with it. Several expressions give the range that contains them all. Expressions that begin in the future
    are ignored, because no conversation is from then. After "to", a weekday or month is the next one after the first
    expression, even in the future: "Monday to Friday" is within one week, and 去年三月到五月 within one year. An
    expression that names its year keeps it. A time that is the subject of the question stays in it, see `is_subject`.

    Args:
        text: The question. Code in backquotes is ignored.
        now: The time of asking, with a time zone.
        zone: The time zone of the caller, which decides where days begin and end.
        locale: The locale of the caller, if it is known: how dates in figures are written there, see `order_of`.
    """
    # By way of UTC, because a time that clocks skip on the way to summer time stays as it is in its own zone.
    local = now.astimezone(UTC).astimezone(zone).replace(tzinfo=None)
    plain = _CODE.sub(lambda code: "`" * len(code[0]), text.translate(_SAME))
    order = numeric.order_of(plain, zone=str(getattr(zone, "key", "")), locale=locale)
    rules = (*_RULES, *numeric.rules(order))
    mentions = [
        mention
        for mention in _joined(plain, islice(_mentions(plain, local, rules), MAX_MENTIONS), local)
        if not is_subject(plain, mention.first, mention.past)
    ]
    if not mentions:
        return None
    first, last = _range_of(mentions)
    if first is not None and last is not None and first >= last:
        return None  # "since this year, before last year" leaves no time
    pieces = [(mention.first, mention.past) for mention in mentions]
    start, end = (None if side is None else side.replace(tzinfo=zone).astimezone(UTC) for side in (first, last))
    return Timed(
        TimeRange(start, end), " ".join(text[first:past].strip() for first, past in pieces), _without(text, pieces)
    )


def _range_of(mentions: Sequence[_Mention]) -> tuple[datetime | None, datetime | None]:
    """Return the range that contains every mention. "Since" and "until" together bound it on both sides."""
    starts = [mention.start for mention in mentions if mention.start is not None]
    ends = [mention.end for mention in mentions if mention.end is not None]
    bounds = all(mention.start is None or mention.end is None for mention in mentions)
    start = min(starts, default=None) if bounds or len(starts) == len(mentions) else None
    end = max(ends, default=None) if bounds or len(ends) == len(mentions) else None
    return start, end


def _mentions(text: str, now: datetime, rules: Sequence[Rule]) -> Iterator[_Mention]:
    """Yield the time expressions of a text in order, without overlaps."""
    past = 0
    for first, end, span_at in sorted(_matches(text, rules), key=lambda match: (match[0], -match[1])):
        if first < past:
            continue
        mention = _mention(text, first, end, span_at, now)
        past = end if mention is None else mention.past
        if mention is not None:
            yield mention


def _matches(text: str, rules: Sequence[Rule]) -> Iterator[tuple[int, int, Callable[[datetime], TimeSpan | None]]]:
    for pattern, span_of in rules:
        for match in pattern.finditer(text):
            first = match.start("at") if "at" in pattern.groupindex else match.start()
            yield first, match.end(), partial(span_of, match)


def _mention(
    text: str, first: int, end: int, span_at: Callable[[datetime], TimeSpan | None], now: datetime
) -> _Mention | None:
    """Read an expression as said at a moment, or return None if it means no time."""
    try:
        span = span_at(now)
    except (OverflowError, ValueError):
        return None  # the 31st of February, or before the calendar begins
    if span is None:
        return None
    begins, past, span = _at_the_hour(text, *parts.narrow(text, first, end, span))
    as_of = partial(_mention, text, first, end, span_at)
    return _Mention(*_connected(text, begins, past, span), span.every, as_of)


def _at_the_hour(text: str, first: int, end: int, span: TimeSpan) -> tuple[int, int, TimeSpan]:
    """Narrow a day by a time of day right after it or right before it."""
    if not span.is_a_day:
        return first, end, span
    for clock, hours_of in (times_chinese.CLOCK, times_english.CLOCK):
        after = clock.match(text, end)
        if after is not None and (hours := hours_of(after)) is not None:
            return first, after.end(), span.hours(*hours)
    before = times_english.CLOCK_BEFORE.search(text, max(first - _NEAR, 0), first)
    if before is not None and (hours := times_english.hours(before)) is not None:
        return before.start(), end, span.hours(*hours)
    return first, end, span


def _connected(text: str, first: int, end: int, span: TimeSpan) -> tuple[int, int, datetime | None, datetime | None]:
    """Open a side of the span if the text says since, after or before, and include the particles around it."""
    near = max(first - _NEAR, 0)
    for pattern, sides in (
        (_SINCE, (span.start, None)),
        (_AFTER, (span.end, None)),
        (_BEFORE, (None, span.start)),
    ):
        if found := pattern.search(text, near, first):
            return found.start(), end, *sides
    for pattern, sides in (
        (_SINCE_ZH, (span.start, None)),
        (_AFTER_ZH, (span.end, None)),
        (_BEFORE_ZH, (None, span.start)),
    ):
        if found := pattern.match(text, end):
            leading = _LEADING.search(text, near, first)
            return leading.start() if leading else first, found.end(), *sides
    leading, trailing = _LEADING.search(text, near, first), _TRAILING.match(text, end)
    has_end = _JOINT.match(text, end) or _ENDS.search(text, first, end)
    until = None if _FROM.search(text, near, first) and not has_end else span.end
    return leading.start() if leading else first, trailing.end() if trailing else end, span.start, until


def _joined(text: str, mentions: Iterable[_Mention], now: datetime) -> list[_Mention]:
    """Join the expressions around "to" and "between", and leave out times that have not begun."""
    joined: list[_Mention] = []
    for mention in mentions:
        pair = _pair(text, joined[-1], mention, now) if joined else None
        if pair is not None:
            joined[-1:] = pair
        elif mention.begins <= now:
            between = _BETWEEN.search(text, max(mention.first - _NEAR, 0), mention.first)
            joined.append(replace(mention, first=between.start()) if between else mention)
    return joined


def _pair(text: str, former: _Mention, latter: _Mention, now: datetime) -> tuple[_Mention, _Mention] | None:
    """Join two expressions around "to" or "and". In a list ("Monday and Friday") none may be in the future."""
    joint = _JOINT.fullmatch(text, former.past, latter.first)
    if joint is None:
        return None
    former = replace(former, past=latter.first)
    pair = _of_one_time(former, latter)
    is_list = (joint["list"] or joint["list_zh"]) and text[former.first :][: len("between")].lower() != "between"
    if not is_list or pair[1].begins <= now:
        return pair
    return (former, latter) if latter.begins <= now else None


def _of_one_time(former: _Mention, latter: _Mention) -> tuple[_Mention, _Mention]:
    """Read an expression without a week or year by the one it is joined to: "March to May 2025" has one year."""
    if former.start is None or latter.start is None:
        return former, latter
    late = former.start > latter.start
    if latter.every is not None and (late or former.end is None or former.end - former.start < latter.every):
        return former, latter.as_of(former.start + latter.every - DAY) or latter
    if former.every is not None and late:
        earlier = former.as_of(latter.start)
        return replace(former, start=earlier.start, end=earlier.end) if earlier else former, latter
    return former, latter


def _without(text: str, pieces: Sequence[tuple[int, int]]) -> str:
    rest, past = "", 0
    for first, end in pieces:
        rest += text[past:first] + " "
        past = end
    return re.sub(r"^[\s,，、:：]+|(?<=\s)\s+|\s+$", "", rest + text[past:])
