"""Look up in indexes which documents may meet a condition. Behind row-level security no other index of them is used.

Metadata is looked up in `metadata_values`. That a field is absent is looked up by the sets of names that the documents
of a collection have: there are few.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, Final

from psycopg import sql
from psycopg.types.json import Jsonb

from querymill_shared.contracts.filters import (
    MAX_CHARS,
    Absent,
    AnyOf,
    Between,
    Condition,
    Scalar,
    StartsWith,
    Within,
)
from querymill_shared.values import value

#: `metadata_values` has so many characters of a text.
_LOOKED_UP_CHARS: Final = 64
_TEXT: Final = sql.SQL("noted.text")
#: A span of times is looked up by its days if it has at most so many, and by its ends otherwise.
_LOOKED_UP_DAYS: Final = 400


@value
class Spelled:
    """Where an index has the texts of a field that no index of its own column serves.

    ``documents`` selects documents by a test, of ``text`` with the collation "C", or ``absent``. Of the field, ``text``
    has the first ``chars`` characters. The statement has a placeholder ``collection``.
    """

    documents: sql.SQL
    text: sql.Composable
    absent: sql.Composable
    chars: int = MAX_CHARS


@value
class Noted:
    """Where the values of metadata are looked up: the column that names the document, and the tables that have it.

    The first table has a row of each document, which its column ``key`` names. A second one has rows within a document,
    whose metadata comes over that of the first; its column ``fields`` is a number of their names. The statement has a
    placeholder ``collection``. What is looked up may be more than what meets a condition.
    """

    document: sql.Composable
    tables: Sequence[str]
    key: str


@dataclass(slots=True)
class Values:
    """The values of placeholders, numbered as they come."""

    prefix: str
    named: dict[str, Any] = field(default_factory=dict)

    def put(self, value: Any) -> sql.Placeholder:
        """Return a placeholder of a value."""
        name = f"{self.prefix}_{len(self.named)}"
        self.named[name] = value
        return sql.Placeholder(name)


def look_up(condition: Condition, name: str, noted: Noted, values: Values) -> list[sql.Composable]:
    """Return the predicate that a document may meet a condition, if there is one.

    Behind a wall, an index serves this one alone.
    """
    if isinstance(condition, Absent):
        return [_look_up_absent(name, noted, values)]
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
#: The documents that have rows without a field: those of the rows if these are few, or else those that lack it
#: themselves, and those of rows that say that it is null.
_ROWS_LACKING: Final = sql.SQL(
    "WITH RECURSIVE sets AS ("
    "(SELECT fields, {key} FROM {table} WHERE collection = %(collection)s ORDER BY fields, {key} LIMIT 1)"
    " UNION ALL SELECT following.* FROM sets CROSS JOIN LATERAL (SELECT fields, {key} FROM {table}"
    " WHERE collection = %(collection)s AND fields > sets.fields ORDER BY fields, {key} LIMIT 1) AS following"
    "), few AS MATERIALIZED ("
    "SELECT lacking.{key} FROM sets CROSS JOIN LATERAL (SELECT {key} FROM {table}"
    " WHERE collection = %(collection)s AND fields = sets.fields ORDER BY {key} LIMIT {limit}) AS lacking"
    " WHERE (SELECT {absent} FROM {table} AS own WHERE own.collection = %(collection)s AND own.fields = sets.fields"
    " AND own.{key} = sets.{key} LIMIT 1) LIMIT {limit}"
    ") SELECT {key} FROM few WHERE (SELECT count(*) FROM few) < {limit}"
    " UNION ALL SELECT document FROM ({documents}) AS own WHERE (SELECT count(*) FROM few) = {limit}"
    " UNION ALL SELECT noted.document FROM metadata_values AS noted WHERE noted.collection = %(collection)s"
    " AND noted.kind = {kind} AND noted.value = jsonb_hash_extended({null}::jsonb, 0)"
)
#: The planner counts on so many, and reads a whole small collection if that seems to cost less.
FEW_ROWS: Final = 100


def is_absent(metadata: sql.Composable, name: str, values: Values) -> sql.Composable:
    """Return the test that a field of metadata is missing or null."""
    return sql.SQL("coalesce({}->{}::text, 'null') = 'null'::jsonb").format(metadata, values.put(name))


def _look_up_absent(name: str, noted: Noted, values: Values) -> sql.Composable:
    key, absent = sql.Identifier(noted.key), is_absent(sql.SQL("own.metadata"), name, values)
    first, *within = noted.tables
    documents = _LACKING.format(kind=values.put(f"{first} fields"), absent=absent, table=sql.Identifier(first), key=key)
    if within:
        (table,) = within
        documents = _ROWS_LACKING.format(
            table=sql.Identifier(table), key=key, absent=absent, limit=sql.Literal(FEW_ROWS), documents=documents,
            kind=values.put(table), null=values.put(Jsonb({name: None})),
        )  # fmt: skip
    return sql.SQL("{} IN ({})").format(noted.document, documents)


def look_up_column(
    condition: Condition, noted: Noted, values: Values, *, spelled: Spelled | None, days: str | None
) -> list[sql.Composable]:
    """Return the predicate that a column that has no index may meet a condition, if there is one."""
    match condition:
        case Within(spans) if days is not None:
            ends = [(_day(first), _day(last)) for first, last in spans if first is not None and last is not None]
            if len(ends) < len(spans) or sum(last - first for first, last in ends) > _LOOKED_UP_DAYS:
                return []
            met = sql.SQL(
                "{} IN (SELECT noted.document FROM metadata_values AS noted WHERE noted.collection = %(collection)s"
                " AND noted.kind = {} AND ({}))"
            )
            between = sql.SQL("noted.value BETWEEN {} AND {}")
            ranges = sql.SQL(" OR ").join([between.format(values.put(first), values.put(last)) for first, last in ends])
            return [met.format(noted.document, values.put(days), ranges)]
        case _ if spelled is not None:
            documents = spelled.documents.format(_test(condition, spelled, values))
            return [sql.SQL("{} IN ({})").format(noted.document, documents)]
        case _:
            return []


def _test(condition: Condition, spelled: Spelled, values: Values) -> sql.Composable:
    text, chars = sql.SQL('({} COLLATE "C")').format(spelled.text), spelled.chars
    match condition:
        case Absent():
            return spelled.absent
        case AnyOf(among):
            return sql.SQL("{} = ANY({}::text[])").format(text, values.put([str(each)[:chars] for each in among]))
        case StartsWith(prefix):
            first = prefix[:chars]
            return sql.SQL(" AND ").join([*_ends(text, first, None, values), *_before(text, text_after(first), values)])
        case Between(str() | None as least, str() | None as most):
            cut_least, cut_most = (None if end is None else end[:chars] for end in (least, most))
            return sql.SQL(" AND ").join(_ends(text, cut_least, cut_most, values))
        case _:
            raise ValueError("must be texts")


def _day(moment: date) -> int:
    """Return the day of a moment in UTC, counted from 1970."""
    day = moment.astimezone(UTC).date() if isinstance(moment, datetime) else moment
    return (day - date(1970, 1, 1)).days


def _noted_tests(condition: Condition, name: str, values: Values) -> list[sql.Composable]:
    """Return what a row of `metadata_values` has to meet, or nothing if the condition cannot be looked up."""
    match condition:
        case AnyOf(among):
            hashes = [
                sql.SQL("jsonb_hash_extended({}::jsonb, 0)").format(values.put(Jsonb({name: value}))) for value in among
            ]
            return [sql.SQL("noted.value = ANY(ARRAY[{}]::bigint[])").format(sql.SQL(", ").join(hashes))]
        case StartsWith(prefix):
            first = prefix[:_LOOKED_UP_CHARS]
            return [
                _of_field(name, values),
                *_ends(_TEXT, first, None, values),
                *_before(_TEXT, text_after(first), values),
            ]
        case Between(str() | None as least, str() | None as most):
            cut_least, cut_most = (None if end is None else end[:_LOOKED_UP_CHARS] for end in (least, most))
            return [_of_field(name, values), *_ends(_TEXT, cut_least, cut_most, values)]
        case Between(least, most):
            number = sql.SQL("noted.number")
            return [_of_field(name, values), *_ends(number, least, most, values)]
        case _:
            return []


def _of_field(name: str, values: Values) -> sql.Composable:
    return sql.SQL('noted.field = hashtextextended({}::text COLLATE "C", 0)').format(values.put(name))


def _ends(value: sql.Composable, least: Scalar | None, most: Scalar | None, values: Values) -> list[sql.Composable]:
    """Compare a text or number with the ends of a range, as far as it has ends."""
    return [
        sql.SQL("{} {} {}").format(value, sql.SQL(operator), _end(given, values))
        for operator, given in ((">=", least), ("<=", most))
        if given is not None
    ]


def _end(given: Scalar, values: Values) -> sql.Composable:
    if isinstance(given, str):
        return sql.SQL("{}::text").format(values.put(given))
    return sql.SQL("metadata_number({}::jsonb)").format(values.put(Jsonb(given)))


def _before(text: sql.Composable, end: str | None, values: Values) -> list[sql.Composable]:
    return [] if end is None else [sql.SQL("{} < {}::text").format(text, values.put(end))]


def text_after(prefix: str) -> str | None:
    """Return the least text that is greater than all texts with a prefix, by code points, or None if there is none."""
    kept = prefix.rstrip("\U0010ffff")
    if not kept:
        return None
    following = ord(kept[-1]) + 1
    return kept[:-1] + chr(0xE000 if following == 0xD800 else following)  # no text holds half of a surrogate pair
