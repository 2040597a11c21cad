"""Filters as SQL predicates, equal to the rule `passes` for every row.

Reserved fields are columns. Everything else is in a column of metadata, `jsonb`, which is checked row by row. Behind
row-level security no index of that column is used, so conditions are looked up in `metadata_values` first. That a field
is absent is looked up by the sets of names that the documents of a collection have: there are few.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
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

_METADATA: Final = sql.Identifier("metadata")
_TYPES: Final[Mapping[FieldType, sql.SQL]] = {
    "text": sql.SQL("text"),
    "time": sql.SQL("timestamptz"),
    "date": sql.SQL("date"),
}


#: `metadata_values` has so many characters of a text.
_LOOKED_UP_CHARS: Final = 64
#: A span of times is looked up by its days if it has at most so many, and by its ends otherwise.
_LOOKED_UP_DAYS: Final = 400


@dataclass(frozen=True, slots=True)
class Column:
    """Where a reserved field is stored. With ``many``, the column is an array, and one element has to meet a condition.

    Prefixes and ranges of texts compare with the collation "C". They use an index if that has the same collation. No
    index serves the elements of an array. ``equal`` selects the documents that have an element among the texts that are
    put into it, and ``days`` is the kind of `metadata_values` that has the days of times. No time is earlier than the
    column ``earliest``, and none later than ``latest``.
    """

    expression: sql.Composable
    type: FieldType = "text"
    many: bool = False
    equal: sql.SQL | None = None
    days: str | None = None
    earliest: sql.Composable | None = None
    latest: sql.Composable | None = None


@dataclass(frozen=True, slots=True)
class Noted:
    """Where the values of metadata are looked up: the column that names the document, and the tables that have it.

    The first table has a row of each document, which its column ``key`` names. Those after it have rows within a
    document, whose metadata comes over that of the first. The statement has a placeholder ``collection``. What is
    looked up may be more than what meets a condition.
    """

    document: sql.Composable
    tables: Sequence[str]
    key: str


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate, to be put into a statement by ``sql.SQL(…).format``, and the values of its placeholders."""

    text: sql.Composable
    values: Mapping[str, Any]


@dataclass(slots=True)
class _Values:
    """The values of placeholders, numbered as they come."""

    prefix: str
    named: dict[str, Any] = field(default_factory=dict)

    def put(self, value: Any) -> sql.Placeholder:
        name = f"{self.prefix}_{len(self.named)}"
        self.named[name] = value
        return sql.Placeholder(name)


def predicate(
    conditions: Mapping[str, Any],
    columns: Mapping[str, Column],
    *,
    metadata: sql.Composable = _METADATA,
    noted: Noted | None = None,
    prefix: str = "filter",
) -> Predicate:
    """Return the predicate of a filter; that of no conditions is TRUE.

    ``columns`` are the reserved fields of the kind. With ``noted``, an index finds what a field of metadata equals,
    begins with, or lies between, where it is absent, and what the elements of an array are.
    ``prefix`` begins the names of the placeholders.

    Raises:
        ValueError: A condition breaks a rule of its field.
    """
    # Apart, so that the placeholders of the same conditions are the same with and without a lookup.
    values, looked_up, parts = _Values(prefix), _Values(f"{prefix}_noted"), []
    for name, written in conditions.items():
        column = columns.get(name)
        if column is None:
            condition = read_condition(written)
            if noted is not None:
                parts += _lookup(condition, name, noted, looked_up)
            parts.append(_of_metadata(condition, name, metadata, values))
        else:
            condition = read_condition(written, column.type)
            if noted is not None:
                parts += _lookup_elements(condition, column, noted, looked_up)
            parts.append(_of_column(condition, column, values))
    joined = sql.SQL(" AND ").join(parts) if parts else sql.SQL("TRUE")
    return Predicate(sql.SQL("({})").format(joined), {**values.named, **looked_up.named})


def _of_column(condition: Condition, column: Column, values: _Values) -> sql.Composable:
    if not column.many:
        return _of_value(condition, column.expression, column.type, values)
    element = sql.Identifier("element")
    is_absent = isinstance(condition, Absent)
    met = sql.SQL("{} IS NOT NULL").format(element) if is_absent else _of_value(condition, element, column.type, values)
    passes = sql.SQL("{}EXISTS (SELECT FROM unnest({}) AS element WHERE {})").format(
        sql.SQL("NOT " if is_absent else ""), column.expression, met
    )
    return sql.SQL(" AND ").join([*_within_ends(condition, column, values), passes])


def _within_ends(condition: Condition, column: Column, values: _Values) -> list[sql.Composable]:
    """Compare the earliest and the latest element with the moments before and after which none meets a condition."""
    if not isinstance(condition, Within):
        return []
    firsts, lasts = zip(*condition.spans, strict=True)
    ends: list[sql.Composable] = []
    if column.latest is not None and None not in firsts:
        ends.append(_in_range(column.latest, min(firsts), None, column.type, values))
    if column.earliest is not None and None not in lasts:
        ends.append(_in_range(column.earliest, None, max(lasts), column.type, values))
    return ends


def _of_value(condition: Condition, value: sql.Composable, type_: FieldType, values: _Values) -> sql.Composable:
    match condition:
        case Absent():
            return sql.SQL("{} IS NULL").format(value)
        case AnyOf(among):
            return sql.SQL("{} = ANY({}::text[])").format(value, values.put(list(among)))
        case StartsWith(prefix):
            return sql.SQL('({} COLLATE "C") ^@ {}::text').format(value, values.put(prefix))
        case Between(least, most):
            return _in_range(sql.SQL('({} COLLATE "C")').format(value), least, most, "text", values)
        case Within(spans):
            ranges = [_in_range(value, first, last, type_, values) for first, last in spans]
            return sql.SQL("({})").format(sql.SQL(" OR ").join(ranges))
        case _:
            assert_never(condition)


def _in_range(value: sql.Composable, least: Any, most: Any, type_: FieldType, values: _Values) -> sql.Composable:
    ends = [
        sql.SQL("{} {} {}::{}").format(value, sql.SQL(operator), values.put(end), _TYPES[type_])
        for operator, end in ((">=", least), ("<=", most))
        if end is not None
    ]
    return sql.SQL("({})").format(sql.SQL(" AND ").join(ends))


def _of_metadata(condition: Condition, name: str, metadata: sql.Composable, values: _Values) -> sql.Composable:
    match condition:
        case Absent():
            null = sql.SQL("coalesce({}->{}::text, 'null') = 'null'::jsonb")
            return null.format(metadata, values.put(name))
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


def _lookup(condition: Condition, name: str, noted: Noted, values: _Values) -> list[sql.Composable]:
    """Return the predicate that a document may meet a condition, if there is one.

    Behind a wall, an index serves this one alone.
    """
    if isinstance(condition, Absent):
        return [_lookup_absent(name, noted, values)]
    tests = _noted_tests(condition, name, values)
    if not tests:
        return []
    met = sql.SQL(
        "{document} IN (SELECT noted.document FROM metadata_values AS noted WHERE noted.collection = %(collection)s"
        " AND noted.kind = ANY({tables}::text[]) AND {tests})"
    )
    tables, joined = values.put(list(noted.tables)), sql.SQL(" AND ").join(tests)
    return [met.format(document=noted.document, tables=tables, tests=joined)]


#: The documents without a field: each set of names is found after the one before, and its first document tells.
_LACKING: Final = sql.SQL(
    "WITH RECURSIVE sets AS ("
    "(SELECT value, document FROM metadata_values WHERE collection = %(collection)s AND kind = {kind}"
    " ORDER BY value LIMIT 1)"
    " UNION ALL SELECT following.value, following.document FROM sets CROSS JOIN LATERAL ("
    "SELECT value, document FROM metadata_values WHERE collection = %(collection)s AND kind = {kind}"
    " AND value > sets.value ORDER BY value LIMIT 1) AS following)"
    " SELECT noted.document FROM sets JOIN metadata_values AS noted ON noted.collection = %(collection)s"
    " AND noted.kind = {kind} AND noted.value = sets.value"
    " WHERE (SELECT {absent} FROM {table} AS own WHERE own.collection = %(collection)s AND own.{key} = sets.document)"
)


def _lookup_absent(name: str, noted: Noted, values: _Values) -> sql.Composable:
    first, *within = noted.tables
    lacking = _LACKING.format(
        kind=values.put(f"{first} fields"),
        absent=_of_metadata(Absent(), name, sql.SQL("own.metadata"), values),
        table=sql.Identifier(first),
        key=sql.Identifier(noted.key),
    )
    if within:
        # What a row within a document says of the field, if only that it is null, comes over what the document says.
        overridden = sql.SQL(
            " UNION ALL SELECT noted.document FROM metadata_values AS noted WHERE noted.collection = %(collection)s"
            " AND noted.kind = ANY({}::text[]) AND noted.value = jsonb_hash_extended({}::jsonb, 0)"
        )
        lacking = sql.SQL("({}){}").format(
            lacking, overridden.format(values.put(within), values.put(Jsonb({name: None})))
        )
    return sql.SQL("{} IN ({})").format(noted.document, lacking)


def _lookup_elements(condition: Condition, column: Column, noted: Noted, values: _Values) -> list[sql.Composable]:
    """Return the predicate that an element of a column may meet a condition, if there is one."""
    match condition:
        case AnyOf(among) if column.equal is not None:
            equal = column.equal.format(values.put(list(among)))
            return [sql.SQL("{} IN ({})").format(noted.document, equal)]
        case Within(spans) if column.days is not None:
            days = [(_day(first), _day(last)) for first, last in spans if first is not None and last is not None]
            if len(days) < len(spans) or sum(last - first for first, last in days) > _LOOKED_UP_DAYS:
                return []
            met = sql.SQL(
                "{} IN (SELECT noted.document FROM metadata_values AS noted WHERE noted.collection = %(collection)s"
                " AND noted.kind = {} AND ({}))"
            )
            between = sql.SQL("noted.value BETWEEN {} AND {}")
            ranges = sql.SQL(" OR ").join([between.format(values.put(first), values.put(last)) for first, last in days])
            return [met.format(noted.document, values.put(column.days), ranges)]
        case _:
            return []


def _day(moment: date) -> int:
    """Return the day of a moment in UTC, counted from 1970."""
    day = moment.astimezone(UTC).date() if isinstance(moment, datetime) else moment
    return (day - date(1970, 1, 1)).days


def _noted_tests(condition: Condition, name: str, values: _Values) -> list[sql.Composable]:
    """Return what a row of `metadata_values` has to meet, or nothing if the condition cannot be looked up."""
    match condition:
        case AnyOf(among):
            hashes = [
                sql.SQL("jsonb_hash_extended({}::jsonb, 0)").format(values.put(Jsonb({name: value}))) for value in among
            ]
            return [sql.SQL("noted.value = ANY(ARRAY[{}]::bigint[])").format(sql.SQL(", ").join(hashes))]
        case StartsWith(prefix):
            first = prefix[:_LOOKED_UP_CHARS]
            return [_of_field(name, values), *_bounds("text", first, None, values), *_before(text_after(first), values)]
        case Between(str() | None as least, str() | None as most):
            cut_least, cut_most = (None if end is None else end[:_LOOKED_UP_CHARS] for end in (least, most))
            return [_of_field(name, values), *_bounds("text", cut_least, cut_most, values)]
        case Between(least, most):
            return [_of_field(name, values), *_bounds("number", least, most, values)]
        case _:
            return []


def _of_field(name: str, values: _Values) -> sql.Composable:
    return sql.SQL('noted.field = hashtextextended({}::text COLLATE "C", 0)').format(values.put(name))


def _bounds(column: str, least: Scalar | None, most: Scalar | None, values: _Values) -> list[sql.Composable]:
    """Compare a column of values with the ends of a range, as far as it has ends."""
    end = sql.SQL("{}::text" if column == "text" else "metadata_number({}::jsonb)")
    return [
        sql.SQL("noted.{} {} {}").format(
            sql.Identifier(column),
            sql.SQL(operator),
            end.format(values.put(given if column == "text" else Jsonb(given))),
        )
        for operator, given in ((">=", least), ("<=", most))
        if given is not None
    ]


def _before(end: str | None, values: _Values) -> list[sql.Composable]:
    return [] if end is None else [sql.SQL("noted.text < {}::text").format(values.put(end))]


def text_after(prefix: str) -> str | None:
    """Return the least text that is greater than all texts with a prefix, by code points, or None if there is none."""
    kept = prefix.rstrip("\U0010ffff")
    if not kept:
        return None
    following = ord(kept[-1]) + 1
    return kept[:-1] + chr(0xE000 if following == 0xD800 else following)  # no text holds half of a surrogate pair


def _by_path(
    test: str, name: str, least: Scalar | None, most: Scalar | None, metadata: sql.Composable, values: _Values
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
