"""The SQL predicate of a filter is equal to the rule `passes`, on the real server."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from psycopg import sql
from psycopg.types.json import Jsonb

from querymill_shared.contracts.filters import FieldType, Filterable, passes
from querymill_workers.postgres.filters import Column, predicate
from querymill_workers.postgres.metadata_index import Noted, text_after
from querymill_workers.retrievers.conversations.stores.postgres import COLUMNS as CONVERSATIONS
from tests.fixtures import filters

TYPES: dict[str, FieldType] = {"name": "text", "time": "time", "day": "date", "roles": "text", "times": "time"}
COLUMNS = {
    name: Column(sql.Identifier("t", name), type_, many=name in ("roles", "times")) for name, type_ in TYPES.items()
}
#: The same, looked up as those of conversations are.
LOOKED_UP = COLUMNS | {
    "roles": replace(CONVERSATIONS["role"], expression=sql.Identifier("t", "roles")),
    "times": replace(CONVERSATIONS["time"], expression=sql.Identifier("t", "times")),
}

NOTED = Noted(sql.SQL("t.id"), ["t"], "id")
ROW = Filterable.of({"tag": [["a"]]}, name=None, time=None, day=None, roles=(), times=())


@pytest.fixture(scope="module")
def connection(database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url, autocommit=True) as opened:
        opened.execute(
            "CREATE TEMPORARY TABLE t (number int, name text, time timestamptz,"
            " day date, roles text[], times timestamptz[], metadata jsonb NOT NULL,"
            " collection text DEFAULT 'filters', id text GENERATED ALWAYS AS (number::text) STORED,"
            " last_active timestamptz,"
            " first_active timestamptz GENERATED ALWAYS AS (earliest(times)) STORED)"
        )
        opened.execute("SET querymill.across = on")
        opened.execute("CREATE INDEX t_metadata ON t USING gin (metadata jsonb_path_ops)")
        yield opened
        opened.execute("DELETE FROM metadata_values WHERE collection = 'filters'")


def documents() -> st.SearchStrategy[Filterable]:
    fields: dict[str, st.SearchStrategy[Any]] = {
        "name": st.none() | st.sampled_from(filters.TEXTS),
        "time": st.none() | filters.times(),
        "day": st.none() | filters.days(),
        "roles": st.lists(st.none() | st.sampled_from(filters.TEXTS), max_size=2).map(tuple),
        "times": st.lists(filters.times(), max_size=2).map(tuple),
    }
    return st.builds(Filterable, st.fixed_dictionaries(fields), filters.metadata())


def stored(connection: psycopg.Connection, found: list[Filterable]) -> None:
    connection.execute("TRUNCATE t")
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO t VALUES (%(number)s, %(name)s, %(time)s, %(day)s, %(roles)s::text[],"
            " %(times)s::timestamptz[], %(metadata)s)",
            [
                {"number": number, "metadata": Jsonb(document.metadata)}
                | {name: list(value) if isinstance(value, tuple) else value for name, value in document.fields.items()}
                for number, document in enumerate(found)
            ],
        )

    connection.execute("UPDATE t SET last_active = (SELECT max(moment) FROM unnest(times) AS moment)")
    connection.execute("DELETE FROM metadata_values WHERE collection = 'filters'")
    for noted in (
        "'t fields', metadata_fields(metadata), id, NULL, NULL FROM t",
        "entry.kind, entry.value, id, entry.field, entry.text FROM t, session_entries(times, roles) AS entry",
    ):
        connection.execute(
            "INSERT INTO metadata_values (part, collection, kind, value, document, field, text) SELECT '', 'filters', "
            f"{noted} ON CONFLICT DO NOTHING".encode()
        )
    connection.execute(
        "INSERT INTO metadata_values (collection, kind, value, document, part, field, number, text)"
        " SELECT 'filters', 't', entry.value, t.number::text, '', entry.field, entry.number, entry.text"
        " FROM t, metadata_entries(metadata) AS entry ON CONFLICT DO NOTHING"
    )


def found_by(connection: psycopg.Connection, conditions: dict[str, Any], *, noted: Noted | None = None) -> list[int]:
    where = predicate(conditions, COLUMNS if noted is None else LOOKED_UP, noted=noted)
    statement = sql.SQL("SELECT number FROM t WHERE {} ORDER BY number").format(where.text)
    return [number for (number,) in connection.execute(statement, {**where.values, "collection": "filters"})]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(documents(), min_size=1, max_size=8), st.lists(filters.filters(TYPES), min_size=1, max_size=6))
@example([ROW], [{"tag": "a"}, {"tag": {"from": "a"}}, {"tag": {"prefix": "a"}}])
@example([replace(ROW, metadata={"tag": None}), ROW, replace(ROW, metadata={})], [{"tag": None}, {"x.y": None}])
def test_the_predicate_finds_what_passes(
    connection: psycopg.Connection, found: list[Filterable], asked: list[dict[str, Any]]
) -> None:
    stored(connection, found)
    for conditions in asked:
        expected = [number for number, document in enumerate(found) if passes(conditions, document)]
        assert found_by(connection, conditions) == expected, conditions
        # What is looked up leaves nothing out. It stands beside the exact condition.
        assert found_by(connection, conditions, noted=NOTED) == expected, conditions


def test_equality_in_metadata_is_served_by_the_index(connection: psycopg.Connection) -> None:
    where = predicate({"tag": ["a", 7]}, COLUMNS)
    connection.execute("SET enable_seqscan = off")
    try:
        statement = sql.SQL("EXPLAIN SELECT number FROM t WHERE {}").format(where.text)
        plan = "\n".join(row[0] for row in connection.execute(statement, where.values))
    finally:
        connection.execute("RESET enable_seqscan")
    assert "t_metadata" in plan


NUMBERS = (1e-320, 1e-300, 5e-301, -5e-301, 0, 1, 1.5, 2**53, 2**53 + 1, 10**299, -(10**299), 1e300, 1.7e308)
LONG = "x" * 63
CHARS = (LONG, LONG + "y", LONG + "ya", LONG + "yb", LONG + "z", "\ud7ff", "\ue000", "\U0010ffff", "\U0010ffffa")


@pytest.mark.parametrize("values", [NUMBERS, CHARS], ids=["numbers", "texts"])
def test_what_is_looked_up_leaves_no_value_out_that_is_rounded_or_cut(
    connection: psycopg.Connection, values: tuple[Any, ...]
) -> None:
    found = [replace(ROW, metadata={"v": value}) for value in values]
    stored(connection, found)
    asked: list[dict[str, Any]] = [{"from": value} for value in values] + [{"to": value} for value in values]
    asked += [{"from": value, "to": value} for value in values]
    asked += [{"prefix": value} for value in values if isinstance(value, str)]
    for condition in asked:
        expected = [number for number, document in enumerate(found) if passes({"v": condition}, document)]
        assert found_by(connection, {"v": condition}, noted=NOTED) == expected, condition


@pytest.mark.parametrize(
    ("prefix", "following"),
    [("ab", "ac"), ("a\U0010ffff", "b"), ("\ud7ff", "\ue000"), ("\U0010ffff", None), ("", None)],
)
def test_the_text_after_all_with_a_prefix(prefix: str, following: str | None) -> None:
    assert text_after(prefix) == following


def test_no_conditions_let_every_row_pass(connection: psycopg.Connection) -> None:
    stored(connection, [ROW, ROW])
    assert found_by(connection, {}) == [0, 1]
