"""Look up in indexes which documents may meet a condition. Behind row-level security no other index of them is used.

Metadata is looked up in `metadata_values`. That a field is absent is looked up by the sets of names that the documents
of a collection have: there are few.
"""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, Final

from psycopg import sql
from psycopg.types.json import Jsonb

from querymill_shared.contracts.filters import (
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
#: A span of times is looked up by its days if it has at most so many, and found by its ends otherwise.
_LOOKED_UP_DAYS: Final = 400
_TEXT: Final = sql.SQL("noted.text")
#: What filters see of a row of `documents` beside its times and its id: a reserved field hides metadata of its name.
FIELDS: Final = sql.SQL("({0}.metadata || {0}.reserved)")


@value
class MetadataTables:
    """Where the fields of a retriever's documents are looked up: ``document`` is the column that names one.

    Its documents may have ``parts``, a table of rows within them. The metadata of such a row comes over that of its
    document, which its column ``key`` names, and its column ``fields`` is a number of the names. The statement has a
    placeholder ``collection``. What is looked up may be more than what meets a condition.
    """

    document: sql.Composable
    retriever: str
    parts: str | None = None
    key: str = "document"


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


def look_up(condition: Condition, name: str, noted: MetadataTables, values: Values) -> list[sql.Composable]:
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
        " AND noted.kind = ANY({kinds}::text[]) AND {tests})"
    )
    kinds = values.put([noted.retriever, *([noted.parts] if noted.parts else [])])
    return [met.format(document=noted.document, kinds=kinds, tests=sql.SQL(" AND ").join(tests))]


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
    " WHERE (SELECT {absent} FROM documents AS own WHERE own.collection = %(collection)s"
    " AND own.retriever = {retriever} AND own.document = sets.document)"
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


def _look_up_absent(name: str, noted: MetadataTables, values: Values) -> sql.Composable:
    documents = _LACKING.format(
        kind=values.put(f"{noted.retriever} fields"), retriever=values.put(noted.retriever),
        absent=is_absent(FIELDS.format(sql.SQL("own")), name, values),
    )  # fmt: skip
    if noted.parts:
        documents = _ROWS_LACKING.format(
            table=sql.Identifier(noted.parts), key=sql.Identifier(noted.key), limit=sql.Literal(FEW_ROWS),
            absent=is_absent(sql.SQL("own.metadata"), name, values), documents=documents,
            kind=values.put(noted.parts), null=values.put(Jsonb({name: None})),
        )  # fmt: skip
    return sql.SQL("{} IN ({})").format(noted.document, documents)


def look_up_times(condition: Condition, name: str, noted: MetadataTables, values: Values) -> list[sql.Composable]:
    """Return the predicate that a document may have a time that meets a condition, if there is one."""
    if isinstance(condition, Absent):
        return [_look_up_absent(name, noted, values)]
    if not isinstance(condition, Within):
        return []
    ends = [(_day(first), _day(last)) for first, last in condition.spans if first is not None and last is not None]
    if len(ends) < len(condition.spans) or sum(last - first for first, last in ends) > _LOOKED_UP_DAYS:
        return []
    met = sql.SQL(
        "{} IN (SELECT noted.document FROM metadata_values AS noted WHERE noted.collection = %(collection)s"
        " AND noted.kind = {} AND ({}))"
    )
    between = sql.SQL("noted.value BETWEEN {} AND {}")
    ranges = sql.SQL(" OR ").join([between.format(values.put(first), values.put(last)) for first, last in ends])
    return [met.format(noted.document, values.put(f"{noted.retriever} days"), ranges)]


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
