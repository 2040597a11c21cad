"""Filters as agents write them: dates in any form of ISO 8601, and null for what is left out. Pure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

from querymill.agents.searches import ALL, AskedKind
from querymill.agents.stored_text import clean_line
from querymill_shared.contracts.filters import RESERVED, FieldType

#: The field of a date, for the kinds that have one.
DATES: Final[Mapping[str, str]] = {
    kind: name for kind, fields in RESERVED.items() for name, type_ in fields.items() if type_ != "text"
}
_DAY: Final = timedelta(days=1)
#: Names that a reply says at most, and their characters.
_NAMES, _NAME_CHARS = 5, 40


@dataclass(frozen=True, slots=True)
class Conditions:
    """A filter as it is meant, and the names whose null was left out of it."""

    filter: Mapping[str, Any]
    left_out: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """What a reply says of it after its first sentence, "" if nothing."""
        names = ", ".join(clean_line(name)[:_NAME_CHARS] for name in self.left_out[:_NAMES])
        return f" Left out of the filter: {names} (null beside other conditions)." if names else ""


def _named(kind: AskedKind) -> str:
    return "searches of everything" if kind == ALL else kind


def conditions_of(
    kind: AskedKind, written: Mapping[str, Any], *, since: str | None = None, until: str | None = None
) -> Conditions:
    """Return a filter as it is meant, with a span of time added to it.

    Hosts fill what they leave out with null, so a null beside other conditions is left out, and named. Where a filter
    has nothing else, null asks for documents without a value.

    Raises:
        ValueError: The kind has no date, or the filter has a condition on it already.
    """
    types: Mapping[str, FieldType] = {} if kind == ALL else RESERVED[kind]
    date_field = None if kind == ALL else DATES.get(kind)
    read = {name: _without_nulls(condition) for name, condition in written.items()}
    is_more = since is not None or until is not None or any(condition is not None for condition in read.values())
    left_out = tuple(name for name, condition in read.items() if condition is None) if is_more else ()
    found = {name: condition for name, condition in read.items() if name not in left_out}
    if date_field is not None and date_field in found:
        found[date_field] = _dated(found[date_field], types[date_field])
    span = {name: value for name, value in (("from", since), ("to", until)) if value is not None}
    if not span:
        return Conditions(found, left_out)
    if date_field is None:
        raise ValueError(f"since, until: {_named(kind)} have no date; leave them out")
    if date_field in found:
        raise ValueError(f"since, until: the filter has a condition on {date_field} already; give one of them")
    return Conditions(found | {date_field: _dated(span, types[date_field])}, left_out)


def _without_nulls(condition: Any) -> Any:
    """Return a condition without the members that are null; None if all of them are."""
    if not isinstance(condition, Mapping) or not condition:
        return condition
    return {name: value for name, value in condition.items() if value is not None} or None


def _dated(condition: Any, field_type: FieldType) -> Any:
    """Return a condition on a date with its dates as the contract has them. What is no date stays as it is."""
    if isinstance(condition, str | int) and not isinstance(condition, bool):
        span = span_of(str(condition), field_type)
        first, last = span or (condition, condition)
        return first if first == last else {"from": first, "to": last}
    if isinstance(condition, Mapping):
        ends = {name: span_of(str(value), field_type) for name, value in condition.items()}
        sides = {"from": 0, "to": 1}
        return {
            name: span[sides[name]] if name in sides and (span := ends[name]) is not None else value
            for name, value in condition.items()
        }
    return condition


def span_of(written: str, field_type: FieldType) -> tuple[str, str] | None:
    """Return the first and the last day (or the moment) that a date in a form of ISO 8601 names; None if it is none.

    >>> span_of("2024-02", "date")
    ('2024-02-01', '2024-02-29')
    """
    for form, read in _FORMS:
        found = form.fullmatch(written.strip())
        if found is None:
            continue
        try:
            first, past = read(found)
        except (ValueError, OverflowError):
            return None
        return first.isoformat(), (past - _DAY).isoformat()
    moment = _moment(written.strip().upper().removesuffix(" UTC"))
    if moment is None:
        return None
    shown = moment.date().isoformat() if field_type == "date" else moment.isoformat()
    return shown, shown


def _moment(written: str) -> datetime | None:
    try:
        return datetime.fromisoformat(written)
    except ValueError:
        return None


def _year(found: re.Match[str]) -> tuple[date, date]:
    year = int(found["year"])
    return date(year, 1, 1), date(year + 1, 1, 1)


def _month(found: re.Match[str]) -> tuple[date, date]:
    year, month = int(found["year"]), int(found["month"])
    return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)


def _day(found: re.Match[str]) -> tuple[date, date]:
    day = date(int(found["year"]), int(found["month"]), int(found["day"]))
    return day, day + _DAY


def _week(found: re.Match[str]) -> tuple[date, date]:
    first = date.fromisocalendar(int(found["year"]), int(found["week"]), int(found["day"] or 1))
    return first, first + (_DAY if found["day"] else 7 * _DAY)


def _ordinal(found: re.Match[str]) -> tuple[date, date]:
    day = date(int(found["year"]), 1, 1) + (int(found["day"]) - 1) * _DAY
    if day.year != int(found["year"]):
        raise ValueError(found["day"])
    return day, day + _DAY


_YEAR: Final = "(?P<year>[12][0-9]{3})"
_FORMS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], tuple[date, date]]], ...]] = (
    (re.compile(_YEAR), _year),
    (re.compile(f"{_YEAR}[-/.](?P<month>[0-9]{{1,2}})"), _month),
    (re.compile(f"{_YEAR}(?P<by>[-/.])(?P<month>[0-9]{{1,2}})(?P=by)(?P<day>[0-9]{{1,2}})"), _day),
    (re.compile(f"{_YEAR}(?P<month>[0-9]{{2}})(?P<day>[0-9]{{2}})"), _day),
    (re.compile(f"{_YEAR}-?[Ww](?P<week>[0-9]{{2}})(?:-?(?P<day>[1-7]))?"), _week),
    (re.compile(f"{_YEAR}-(?P<day>[0-9]{{3}})"), _ordinal),
)
