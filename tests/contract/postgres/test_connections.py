"""The pool of connections to PostgreSQL: a busy one makes its callers wait, a dead server does not."""

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import numpy as np
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.jobs.faults import Unavailable
from querymill_workers.postgres.checked_connection import STATEMENT_TIMEOUT_MS
from querymill_workers.postgres.connection import (
    Pool,
    joined,
    lent,
    literal,
    open_pool,
    unhurried,
)
from querymill_workers.postgres.queries import SESSION
from querymill_workers.postgres.reading import fetch_all


def test_a_busy_pool_makes_its_callers_wait_however_many_they_are(database_url: str) -> None:
    with open_pool(database_url, max_size=2, timeout_s=1.0) as pool, ThreadPoolExecutor(50) as callers:
        fetch_all(pool, ("SELECT 1", {}))
        # Twenty-five turns of 0.1 s: most callers wait longer than the pool's time limit.
        asked = list(callers.map(lambda _: fetch_all(pool, ("SELECT pg_sleep(0.1)", {})), range(50)))
    assert len(asked) == 50


def test_a_server_that_is_away_is_told_within_the_time_limit() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"postgresql://127.0.0.1:{free.getsockname()[1]}/querymill"
    with open_pool(url, timeout_s=0.2) as pool:
        begun = time.monotonic()
        with pytest.raises(Unavailable, match="PoolTimeout"):
            fetch_all(pool, ("SELECT 1", {}))
        assert time.monotonic() - begun < 5


@pytest.fixture
def pool(database_url: str) -> Iterator[Pool]:
    with open_pool(database_url, max_size=2, timeout_s=2.0) as opened:
        yield opened


@pytest.fixture
def table(database: psycopg.Connection) -> Iterator[str]:
    name = f"t{uuid4().hex}"
    database.execute(f"CREATE TABLE {name} (number integer)")
    yield name
    database.execute(f"DROP TABLE {name}")


def numbers(database: psycopg.Connection, table: str) -> list[int]:
    return [number for (number,) in database.execute(f"SELECT number FROM {table} ORDER BY 1")]


def test_a_transaction_that_fails_leaves_nothing_behind(pool: Pool, table: str, database: psycopg.Connection) -> None:
    def insert_and_fail() -> None:
        with lent(pool) as connection:
            connection.execute(f"INSERT INTO {table} VALUES (1)")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        insert_and_fail()
    with lent(pool) as connection:
        connection.execute(f"INSERT INTO {table} VALUES (2)")
    assert numbers(database, table) == [2]


def test_what_a_thread_does_within_a_joined_transaction_stands_or_falls_with_it(
    pool: Pool, table: str, database: psycopg.Connection
) -> None:
    def insert(number: int) -> None:
        with lent(pool) as connection:
            connection.execute(f"INSERT INTO {table} VALUES ({number})")

    def insert_and_fail() -> None:
        with joined(pool), ThreadPoolExecutor(1) as other:
            insert(1)
            other.submit(insert, 2).result()
            assert numbers(database, table) == [2]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        insert_and_fail()
    with joined(pool):
        insert(3)
        assert numbers(database, table) == [2]
    insert(4)
    assert numbers(database, table) == [2, 3, 4]


def test_a_statement_within_a_joined_transaction_does_not_keep_the_role_of_the_one_before(pool: Pool) -> None:
    with joined(pool) as connection:
        connection.execute(SESSION["as_reader"], {"collection": "c"})
        ((reader,),) = connection.execute("SELECT current_user").fetchall()
        with lent(pool) as again:
            ((owner,),) = again.execute("SELECT current_user").fetchall()
    assert reader == "querymill_reader"
    assert owner != reader


def test_statements_that_are_fetched_together_are_one_transaction(pool: Pool) -> None:
    first, second = fetch_all(pool, ("SELECT txid_current()", {}), ("SELECT txid_current()", {}))
    (later,) = fetch_all(pool, ("SELECT txid_current()", {}))
    assert first == second != later


def test_the_role_of_a_transaction_ends_with_it(pool: Pool) -> None:
    _, inside = fetch_all(pool, (SESSION["as_reader"], {"collection": "c"}), ("SELECT current_user", {}))
    (after,) = fetch_all(pool, ("SELECT current_user", {}))
    assert inside == [("querymill_reader",)]
    assert after != inside


def test_the_time_limit_of_statements_is_lifted_for_one_transaction(pool: Pool) -> None:
    def limit(connection: psycopg.Connection) -> str:
        row = connection.execute("SHOW statement_timeout").fetchone()
        assert row is not None
        return str(row[0])

    with lent(pool) as connection:
        usual = limit(connection)
        assert usual == f"{STATEMENT_TIMEOUT_MS // 1000}s"
        unhurried(connection)
        assert limit(connection) == "0"
        unhurried(connection, limit_ms=300_000)
        assert limit(connection) == "5min"
    with lent(pool) as connection:
        assert limit(connection) == usual


def test_connections_that_the_server_has_closed_are_replaced_before_they_are_lent(
    pool: Pool, database: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((process,),) = fetch_all(pool, ("SELECT pg_backend_pid()", {}))
    database.execute("SELECT pg_terminate_backend(%s)", process)
    monkeypatch.setattr("querymill_workers.postgres.connection.TRUSTED_FOR_S", 0.0)
    ((replacement,),) = fetch_all(pool, ("SELECT pg_backend_pid()", {}))
    assert replacement != process


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_a_vector_as_text_keeps_every_bit(numbers: list[float]) -> None:
    vector = np.array(numbers, np.float32)
    back = np.array(literal(vector).strip("[]").split(","), np.float32)
    assert back.tobytes() == vector.tobytes()
