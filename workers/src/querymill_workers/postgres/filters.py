"""Filters as SQL predicates, equal to the rule `passes` for every row.

Reserved fields are columns. Everything else is in a column of metadata, `jsonb`, which is checked row by row. Behind
row-level security no index of that column is used, so conditions are looked up first (`lookups`).
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from types import MappingProxyType
from typing import Any, Final, assert_never

from psycopg import sql
from psycopg.types.json import Jsonb

from querymill_shared.contracts.filters import (
    Absent,
    AnyOf,
    Between,
    Condition,
    FieldType,
    Scalar,
    StartsWith,
    Within,
    read_condition,
)
from querymill_shared.values import value
from querymill_workers.postgres.metadata_index import MetadataTables, Values, is_absent, look_up, look_up_times

_METADATA: Final = sql.Identifier("metadata")
_TYPES: Final[Mapping[FieldType, sql.SQL]] = {
    "text": sql.SQL("text"),
    "time": sql.SQL("timestamptz"),
    "date": sql.SQL("date"),
}


@value
class Column:
    """Where a reserved field is stored. With ``many``, the column is an array, and one element has to meet a condition.

    Texts compare with the collation "C". They use an index if that has the same collation. No index serves the elements
    of an array: those are times, whose days are looked up. A day is its beginning in UTC. No time is earlier than the
    column ``earliest``, and none later than ``latest``.
    """

    expression: sql.Composable
    type: FieldType = "text"
    many: bool = False
    earliest: sql.Composable | None = None
    latest: sql.Composable | None = None


@value
class Predicate:
    """A predicate, to be put into a statement by ``sql.SQL(…).format``, and the values of its placeholders."""

    text: sql.Composable
    values: Mapping[str, Any]


def predicate(
    conditions: Mapping[str, Any],
    columns: Mapping[str, Column],
    *,
    types: Mapping[str, FieldType] = MappingProxyType({}),
    metadata: sql.Composable = _METADATA,
    noted: MetadataTables | None = None,
    prefix: str = "filter",
) -> Predicate:
    """Return the predicate of a filter; that of no conditions is TRUE.

    ``columns`` are the reserved fields of the kind that have one, and ``types`` those of the others. With ``noted``, an
    index finds what a field of metadata equals,
    begins with, or lies between, where it is absent, and what of columns has no index of its own.
    ``prefix`` begins the names of the placeholders.

    Raises:
        ValueError: A condition breaks a rule of its field.
    """
    # Apart, so that the placeholders of the same conditions are the same with and without a lookup.
    values, looked_up, parts = Values(prefix), Values(f"{prefix}_noted"), []
    for name, written in conditions.items():
        column = columns.get(name)
        if column is None:
            condition = read_condition(written, types.get(name))
            if noted is not None:
                parts += look_up(condition, name, noted, looked_up)
            parts.append(_of_metadata(condition, name, metadata, values))
        else:
            condition = read_condition(written, column.type)
            if noted is not None and column.many:
                parts += look_up_times(condition, name, noted, looked_up)
            parts.append(_of_column(condition, column, values))
    joined = sql.SQL(" AND ").join(parts) if parts else sql.SQL("TRUE")
    return Predicate(sql.SQL("({})").format(joined), {**values.named, **looked_up.named})


def _of_column(condition: Condition, column: Column, values: Values) -> sql.Composable:
    if not column.many:
        return _of_value(condition, column.expression, column.type, values)
    none = isinstance(condition, Absent)
    element, ends = sql.Identifier("element"), list[sql.Composable]()
    if isinstance(condition, Within):
        spans = tuple((_moment(first), _moment(last)) for first, last in condition.spans)
        condition, ends = Within(spans), _within_ends(spans, column, values)
    met = sql.SQL("{} IS NOT NULL").format(element) if none else _of_value(condition, element, "time", values)
    passes = sql.SQL("{}EXISTS (SELECT FROM unnest({}) AS element WHERE {})").format(
        sql.SQL("NOT " if none else ""), column.expression, met
    )
    return sql.SQL(" AND ").join([*ends, passes])


def _moment(end: date | None) -> datetime | None:
    return end if end is None or isinstance(end, datetime) else datetime.combine(end, time.min, UTC)


def _within_ends(
    spans: Sequence[tuple[datetime | None, datetime | None]], column: Column, values: Values
) -> list[sql.Composable]:
    """Compare the earliest and the latest element with the moments before and after which none meets a condition."""
    firsts, lasts = zip(*spans, strict=True)
    ends: list[sql.Composable] = []
    if column.latest is not None and None not in firsts:
        ends.append(_in_range(column.latest, min(firsts), None, "time", values))
    if column.earliest is not None and None not in lasts:
        ends.append(_in_range(column.earliest, None, max(lasts), "time", values))
    return ends


def _of_value(condition: Condition, value: sql.Composable, type_: FieldType, values: Values) -> sql.Composable:
    match condition:
        case Absent():
            return sql.SQL("{} IS NULL").format(value)
        case AnyOf(among):
            return sql.SQL('({} COLLATE "C") = ANY({}::text[])').format(value, values.put(list(among)))
        case StartsWith(prefix):
            return sql.SQL('({} COLLATE "C") ^@ {}::text').format(value, values.put(prefix))
        case Between(least, most):
            return _in_range(sql.SQL('({} COLLATE "C")').format(value), least, most, "text", values)
        case Within(spans):
            ranges = [_in_range(value, first, last, type_, values) for first, last in spans]
            return sql.SQL("({})").format(sql.SQL(" OR ").join(ranges))
        case _:
            assert_never(condition)


def _in_range(value: sql.Composable, least: Any, most: Any, type_: FieldType, values: Values) -> sql.Composable:
    ends = [
        sql.SQL("{} {} {}::{}").format(value, sql.SQL(operator), values.put(end), _TYPES[type_])
        for operator, end in ((">=", least), ("<=", most))
        if end is not None
    ]
    return sql.SQL("({})").format(sql.SQL(" AND ").join(ends))


def _of_metadata(condition: Condition, name: str, metadata: sql.Composable, values: Values) -> sql.Composable:
    match condition:
        case Absent():
            return is_absent(metadata, name, values)
        case AnyOf(among):
            # In lists, too. The index finds both forms.
            forms = [Jsonb(form) for value in among for form in ({name: value}, {name: [value]})]
            return sql.SQL("{} @> ANY({}::jsonb[])").format(metadata, values.put(forms))
        case StartsWith(prefix):
            return _by_path("@ starts with $least", name, prefix, None, metadata, values)
        case Between(least, most):
            ends = " && ".join(
                end for end, given in (("@ >= $least", least), ("@ <= $most", most)) if given is not None
            )
            return _by_path(ends, name, least, most, metadata, values)
        case Within():
            raise ValueError("metadata has no times")
        case _:
            assert_never(condition)


def _by_path(
    test: str, name: str, least: Scalar | None, most: Scalar | None, metadata: sql.Composable, values: Values
) -> sql.Composable:
    """Return the predicate that the value under a name, or an element if it is a list, meets a test of a JSON path."""
    value = sql.SQL("{}->{}::text").format(metadata, values.put(name))
    ends = values.put(Jsonb({"least": least, "most": most}))
    # Strict: a list within the list is no element of it.
    paths = [
        sql.SQL("coalesce(jsonb_path_exists({}, {}, {}::jsonb, true), false)").format(
            value, sql.Literal(f"strict {of} ? ({test})"), ends
        )
        for of in ("$", "$[*]")
    ]
    return sql.SQL("({})").format(sql.SQL(" OR ").join(paths))
