"""Filters: conditions on the fields and the metadata of a document, by name. A document passes if it meets all of them.

A condition is written as JSON:

- ``"x"``, ``3``, ``true``: equal.
- ``["a", "b"]``: equal to one of them.
- ``{"from": a, "to": b}``: in the range, both ends included. Either may be missing.
- ``{"prefix": "src/"}``: begins with it.
- ``null``: absent, that is missing or null.

Values of different types are never equal, and no range holds a value of another type. Texts are ordered by code
points. Of a list, one element that meets the condition is enough. The reserved fields of a kind have a type: a whole
number stands for its digits where a text is meant, and a day for its 24 hours in UTC where a time is meant.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, WithJsonSchema, field_validator

from querymill_shared.contracts.fields import Name, Request
from querymill_shared.values import value

Retriever = Literal["modules", "messages", "conversations", "reports", "files"]
FieldType = Literal["text", "time", "date"]
Scalar = str | int | float | bool

#: The fields of the documents of each kind that a filter can name. Any other name is one of the metadata.
RESERVED: Final[Mapping[Retriever, Mapping[str, FieldType]]] = {
    "modules": {"module": "text", "path": "text"},
    "messages": {"user_name": "text", "role": "text", "session_id": "text", "time": "time"},
    "conversations": {"user_name": "text", "role": "text", "session_id": "text", "time": "time"},
    "reports": {"company": "text", "period": "text", "title": "text", "published_at": "date"},
    "files": {"path": "text", "language": "text"},
}
#: Names in a filter, characters of a text, and values in a list.
MAX_NAMES, MAX_CHARS, MAX_VALUES = 20, 500, 200


@value
class Absent:
    """There is no value."""


@value
class AnyOf:
    """The value is one of these."""

    values: tuple[Scalar, ...]


@value
class Between:
    """The value lies in a range, both ends included; None is an open end."""

    least: Scalar | None
    most: Scalar | None


@value
class StartsWith:
    """The value is a text with this prefix."""

    prefix: str


@value
class Within:
    """The time or day lies in one of these spans, both ends included; None is an open end."""

    spans: tuple[tuple[date | None, date | None], ...]


Condition = Absent | AnyOf | Between | StartsWith | Within


def read_condition(written: object, field_type: FieldType | None = None) -> Condition:
    """Read a condition on a field of a type, or without a type on metadata.

    Raises:
        ValueError: It breaks a rule; the message is the rule.
    """
    condition = _read(written)
    match field_type:
        case None:
            return condition
        case "text":
            return _of_texts(condition)
        case "time" | "date":
            return _of_times(condition, field_type)


def _read(written: Any) -> Condition:
    match written:
        case None:
            return Absent()
        case str() | bool() | int() | float():
            return AnyOf((_scalar(written),))
        case list() | tuple():
            if not 1 <= len(written) <= MAX_VALUES:
                raise ValueError(f"a list must hold 1 to {MAX_VALUES} values")
            return AnyOf(tuple(map(_scalar, written)))
        case {"prefix": str(prefix), **others} if not others:
            return StartsWith(_text(prefix))
        case dict() if written and written.keys() <= {"from", "to"}:
            return _range(written.get("from"), written.get("to"))
        case _:
            raise ValueError('must be a value, a list of values, {"from": …, "to": …}, {"prefix": "…"} or null')


def _scalar(written: object) -> Scalar:
    match written:
        case bool():
            return written
        case str():
            return _text(written)
        case int() if abs(written) < 10**308:
            return written
        case float() if math.isfinite(written):
            return written
        case int() | float():
            raise ValueError("a number must be finite and below 1e308")
        case _:
            raise ValueError("a value must be a text, a number, true or false")


def _text(written: str) -> str:
    if len(written) > MAX_CHARS:
        raise ValueError(f"a text must have at most {MAX_CHARS} characters")
    if any(character == "\x00" or "\ud800" <= character <= "\udfff" for character in written):
        raise ValueError("a text must hold neither NUL nor half of a surrogate pair")
    return written


def _range(least: object, most: object) -> Between:
    ends = [None if end is None else _scalar(end) for end in (least, most)]
    given = {_type_of(end) for end in ends if end is not None}
    if len(given) != 1 or given == {bool}:
        raise ValueError('a range must have "from" or "to", and both must be texts or both numbers')
    return Between(*ends)


def _type_of(value: object) -> type:
    return Decimal if isinstance(value, int | float) and not isinstance(value, bool) else type(value)


def _of_texts(condition: Condition) -> Condition:
    match condition:
        case AnyOf(values):
            return AnyOf(tuple(map(_digits, values)))
        case Between(least, most):
            return Between(*(None if end is None else _digits(end) for end in (least, most)))
        case _:
            return condition


def _digits(value: Scalar) -> str:
    if isinstance(value, bool | float):
        raise ValueError("the values of this field are texts")  # noqa: TRY004  # a broken rule, for pydantic
    return str(value)


def _of_times(condition: Condition, field_type: Literal["time", "date"]) -> Condition:
    match condition:
        case AnyOf(values):
            return Within(tuple(_span(value, field_type) for value in values))
        case Between(least, most):
            start = None if least is None else _span(least, field_type)[0]
            return Within(((start, None if most is None else _span(most, field_type)[1]),))
        case StartsWith():
            raise ValueError("a time has no prefix; give a range")
        case _:
            return condition


def _span(written: Scalar, field_type: Literal["time", "date"]) -> tuple[date, date]:
    """Return the first and the last moment (or day) that are meant."""
    try:
        day = date.fromisoformat(str(written))
    except ValueError:
        moment = _moment(written, field_type)
        return moment, moment
    if field_type == "date":
        return day, day
    return datetime.combine(day, time.min, UTC), datetime.combine(day, time.max, UTC)


def _moment(written: Scalar, field_type: Literal["time", "date"]) -> datetime:
    try:
        moment = datetime.fromisoformat(str(written))
        if field_type == "time":
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    wanted = "a day" if field_type == "date" else "a time or a day"
    raise ValueError(f"must be {wanted} as in ISO 8601, such as 2026-03-31")


def _follows_the_rules(written: object) -> object:
    _read(written)
    return written


def _name_is_storable(name: str) -> str:
    return _text(name)


#: What `read_condition` reads, as callers read it in the schema.
_TEXT: Final = {"type": "string", "maxLength": MAX_CHARS, "pattern": r"^[^\u0000]*$"}
_NUMBER: Final = {"type": "number", "exclusiveMinimum": -1e308, "exclusiveMaximum": 1e308}
_VALUE: Final = (_TEXT, _NUMBER, {"type": "boolean"})
_CONDITION: Final[dict[str, Any]] = {
    "anyOf": [
        *_VALUE,
        {"type": "null"},
        {"type": "array", "items": {"anyOf": [*_VALUE]}, "minItems": 1, "maxItems": MAX_VALUES},
        {"type": "object", "properties": {"prefix": _TEXT}, "required": ["prefix"], "additionalProperties": False},
        *(
            {
                "type": "object",
                "properties": {"from": end, "to": end},
                "minProperties": 1,
                "additionalProperties": False,
            }
            for end in (_TEXT, _NUMBER)
        ),
    ]
}
FilterName = Annotated[Name, AfterValidator(_name_is_storable)]
#: Conditions by the name of a field: see the module.
Filter = Annotated[
    Mapping[FilterName, Annotated[Any, AfterValidator(_follows_the_rules), WithJsonSchema(_CONDITION)]],
    Field(max_length=MAX_NAMES),
]


def fits(conditions: Mapping[str, Any], retriever: Retriever) -> None:
    """Check a filter against the types of a kind's reserved fields.

    Raises:
        ValueError: A condition breaks a rule; the message names the field and the rule.
    """
    types = RESERVED[retriever]
    for name, written in conditions.items():
        try:
            read_condition(written, types.get(name))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error


class Filtered(Request):
    """Base class of the requests that have a filter."""

    filter: Filter = Field(default_factory=dict, description="conditions that a document must meet, by field")

    @field_validator("filter")
    @classmethod
    def _fits_the_fields(cls, conditions: Mapping[str, Any]) -> Mapping[str, Any]:
        kind = cls.model_fields["kind"].default
        if kind in RESERVED:  # else the request names the kind of its documents, and checks this for itself
            fits(conditions, kind)
        return conditions


class FilteredSearch(Filtered):
    """Base class of searches. Hits carry the metadata of their documents if a request has a filter or asks for it."""

    metadata: Annotated[bool, Field(description="return the metadata of each hit's document")] = False

    @property
    def shows_metadata(self) -> bool:
        """Whether hits carry metadata: most callers read only the text."""
        return self.metadata or bool(self.filter)


FieldValue = str | date | None


@value
class Filterable:
    """What a filter sees of a document: every reserved field, with one value or several, and the metadata.

    Times and days are `datetime` (aware) and `date`, never texts. A reserved field hides metadata of its name.
    """

    fields: Mapping[str, FieldValue | Sequence[FieldValue]] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def values(self, name: str) -> tuple[Any, ...]:
        """Return the values under a name."""
        value: Any = self.fields[name] if name in self.fields else self.metadata.get(name)
        values = value if isinstance(value, list | tuple) else (value,)
        return tuple(value for value in values if value is not None)

    def is_absent(self, name: str) -> bool:
        """Whether there is no value under a name. In metadata, an empty list is a value."""
        return not self.values(name) if name in self.fields else self.metadata.get(name) is None

    @classmethod
    def of(cls, metadata: Mapping[str, Any] | None, **fields: FieldValue | Sequence[FieldValue]) -> Self:
        """Return what a filter sees of a document with these reserved fields."""
        return cls(fields, metadata or {})


def passes(conditions: Mapping[str, Any], document: Filterable) -> bool:
    """Whether a document meets all conditions. Every store's predicate is equal to this rule."""
    return all(_meets(document, name, written) for name, written in conditions.items())


def _meets(document: Filterable, name: str, written: object) -> bool:
    condition = _read(written)
    if isinstance(condition, Absent):
        return document.is_absent(name)
    values = document.values(name)
    if name in document.fields:
        condition = read_condition(written, _field_type(values))
    return any(_is_met(condition, value) for value in values)


def _field_type(values: Sequence[object]) -> FieldType:
    match values[0] if values else None:
        case datetime():
            return "time"
        case date():
            return "date"
        case _:
            return "text"


def _is_met(condition: Condition, value: Any) -> bool:
    match condition:
        case AnyOf(values):
            return any(_comes_before(wanted, value) and _comes_before(value, wanted) for wanted in values)
        case Between(least, most):
            return (least is None or _comes_before(least, value)) and (most is None or _comes_before(value, most))
        case StartsWith(prefix):
            return isinstance(value, str) and value.startswith(prefix)
        case Within(spans):
            return any((first is None or first <= value) and (last is None or value <= last) for first, last in spans)
        case _:
            return False


def _comes_before(first: Any, second: Any) -> bool:
    """Whether both have the same type and the first is at most the second."""
    if _type_of(first) is not _type_of(second) or not isinstance(first, str | int | float):
        return False
    if isinstance(first, str | bool):
        return bool(first <= second)
    return Decimal(str(first)) <= Decimal(str(second))  # as JSON writes it
