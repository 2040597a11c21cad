"""Time limits of connections to PostgreSQL: what falls silent, is frozen or is in the way costs seconds."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors

from querymill_workers.jobs.faults import CallFailed, Conflict, Unavailable
from querymill_workers.postgres import connection as limits
from querymill_workers.postgres.checked_connection import CheckedConnection
from querymill_workers.postgres.connection import (
    Pool,
    holding,
    joined,
    lent,
    open_pool,
    take_lock,
    unhurried,
)
from querymill_workers.postgres.faults import fault_of
from querymill_workers.postgres.reading import fetch_all
from tests.fakes.proxy import Network, network


@pytest.fixture
def net(database_url: str) -> Iterator[Network]:
    address = urlsplit(database_url)
    with network(address.hostname or "127.0.0.1", address.port or 5432) as opened:
        yield opened


@pytest.fixture
def pool(database_url: str, net: Network) -> Iterator[Pool]:
    """A pool whose connections go over a network that a test may cut."""
    address = urlsplit(database_url)
    url = address._replace(netloc=f"{address.netloc.rpartition(':')[0]}:{net.port}").geturl()
    with open_pool(url, max_size=6, timeout_s=5.0) as opened:
        yield opened


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits of few seconds instead of many; the proportions stay."""
    monkeypatch.setattr(CheckedConnection, "limit_s", 3.0)
    monkeypatch.setattr(limits, "RESPONSE_S", 3.0)
    monkeypatch.setattr(limits, "CHECK_S", 0.5)
    monkeypatch.setattr(limits, "TRUSTED_FOR_S", 0.0)


def lock(connection: psycopg.Connection, name: str) -> None:
    connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])


def fill(pool: Pool, connections: int) -> None:
    """Open several connections, and leave them idle."""
    all_here = threading.Barrier(connections)

    def ask(_: int) -> None:
        with lent(pool) as connection:
            connection.execute("SELECT 1")
            all_here.wait(30)

    with ThreadPoolExecutor(connections) as callers:
        list(callers.map(ask, range(connections)))


@pytest.mark.usefixtures("brief")
def test_idle_connections_that_fell_silent_are_replaced_together(pool: Pool, net: Network) -> None:
    fill(pool, 6)
    net.swallow()
    assert fetch_all(pool, ("SELECT 1", {})) == [[(1,)]]
    fill(pool, 6)
    assert 1 <= pool.get_stats()["connections_lost"] <= 3, "one was checked, not each of the six"


@pytest.mark.usefixtures("brief")
def test_a_statement_whose_connection_falls_silent_is_given_up(
    pool: Pool, net: Network, database: psycopg.Connection
) -> None:
    name = uuid4().hex
    with ThreadPoolExecutor(1) as caller:
        with database.transaction():
            lock(database, name)
            statement = "SELECT pg_advisory_xact_lock(hashtextextended(%(name)s, 0))"
            asked = caller.submit(fetch_all, pool, (statement, {"name": name}))
            waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            while not asked.done() and database.execute(waiting).fetchone() is None:
                time.sleep(0.01)
            net.swallow()
        # The server replies now, into nowhere.
        with pytest.raises(Unavailable, match="PostgreSQL"):
            asked.result(timeout=30)
    assert fetch_all(pool, ("SELECT 1", {})) == [[(1,)]]


@pytest.mark.usefixtures("brief")
def test_a_transaction_whose_connection_falls_silent_does_not_wait_to_roll_back(
    pool: Pool, net: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CheckedConnection, "limit_s", 60.0)
    monkeypatch.setattr(limits, "RESPONSE_S", 60.0)

    def fail() -> None:
        with lent(pool) as connection:
            connection.execute("SELECT 1")
            net.swallow()
            raise ZeroDivisionError

    begun = time.monotonic()
    with pytest.raises(Unavailable, match="PostgreSQL"):
        fail()
    assert time.monotonic() - begun < 20


def test_a_statement_without_a_time_limit_may_take_longer(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CheckedConnection, "limit_s", 2.0)
    with lent(pool) as connection:
        unhurried(connection)
        connection.execute("SELECT pg_sleep(2.4)")


@pytest.mark.nightly
def test_a_pool_reconnects_at_once_after_a_server_was_away_for_long(pool: Pool, net: Network) -> None:
    fetch_all(pool, ("SELECT 1", {}))
    net.cut()
    until = time.monotonic() + 12
    while time.monotonic() < until:
        with pytest.raises(Unavailable):
            fetch_all(pool, ("SELECT 1", {}))
    net.mend()
    begun = time.monotonic()
    while True:
        try:
            fetch_all(pool, ("SELECT 1", {}))
        except Unavailable:
            continue
        break
    assert time.monotonic() - begun < 6  # the library's own waits have grown to 16 s by now


def test_waiting_for_a_lock_is_a_conflict_and_ends(pool: Pool) -> None:
    name = uuid4().hex
    with lent(pool) as first:
        lock(first, name)

        def wait() -> None:
            with lent(pool) as second:
                second.execute("SET LOCAL lock_timeout = 200")
                lock(second, name)

        with ThreadPoolExecutor(1) as other, pytest.raises(Conflict, match="LockNotAvailable"):
            other.submit(wait).result()


def test_the_lock_of_a_frozen_worker_is_freed(pool: Pool, database: psycopg.Connection) -> None:
    name = uuid4().hex

    def freeze() -> None:
        with joined(pool) as frozen:
            frozen.execute("SET LOCAL idle_in_transaction_session_timeout = 300")
            lock(frozen, name)
            with database.transaction():
                lock(database, name)  # it comes free
            frozen.execute("SELECT 1")

    with pytest.raises(Unavailable, match="PostgreSQL"):
        freeze()


def test_a_holder_that_works_on_other_connections_keeps_its_lock(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, database: psycopg.Connection
) -> None:
    monkeypatch.setattr(limits, "HOLDER_SILENCE_MS", 3_500)
    monkeypatch.setattr(limits, "HEARD_EVERY_S", 0.2)
    name = uuid4().hex
    with holding(pool) as holder:
        lock(holder, name)
        for _ in range(8):
            with lent(pool) as other:
                other.execute("SELECT pg_sleep(0.5)")
        database.execute("SET lock_timeout = 100")
        with pytest.raises(errors.LockNotAvailable):
            lock(database, name)


def test_a_holder_that_lost_its_lock_does_nothing_more(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, database: psycopg.Connection
) -> None:
    name = uuid4().hex
    monkeypatch.setattr(limits, "HOLDER_SILENCE_MS", 300)
    monkeypatch.setattr(limits, "HEARD_EVERY_S", 0.2)
    done: list[str] = []

    def freeze_and_write() -> None:
        with holding(pool) as holder:
            lock(holder, name)
            with database.transaction():
                lock(database, name)  # it comes free
            time.sleep(0.3)
            with lent(pool):
                done.append("wrote")

    with pytest.raises(Unavailable):
        freeze_and_write()
    assert done == []


def test_a_lock_that_was_taken_is_freed_when_its_worker_freezes(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, database: psycopg.Connection
) -> None:
    monkeypatch.setattr(limits, "HOLDER_SILENCE_MS", 300)
    name, freed = uuid4().hex, list[str]()

    def freeze() -> None:
        with holding(pool) as frozen:
            take_lock(frozen, "SELECT pg_advisory_xact_lock(hashtextextended(%(name)s, 0))", {"name": name})
            with database.transaction():
                database.execute("SET LOCAL lock_timeout = '10s'")
                lock(database, name)  # it comes free
            freed.append(name)
            frozen.execute("SELECT 1")

    with pytest.raises(Unavailable, match="PostgreSQL"):
        freeze()
    assert freed == [name]


def test_a_transaction_that_freezes_within_a_pipeline_ends(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, database: psycopg.Connection
) -> None:
    if database.info.server_version < 170_000:
        pytest.skip("this server does not limit transactions")
    monkeypatch.setattr(limits, "TRANSACTION_MS", 300)
    name, freed = uuid4().hex, list[str]()

    def freeze() -> None:
        with open_pool(str(pool.conninfo)) as brief, lent(brief) as frozen, frozen.pipeline():
            lock(frozen, name)
            frozen.execute("SELECT 1").fetchone()
            with database.transaction():
                database.execute("SET LOCAL lock_timeout = '10s'")
                lock(database, name)  # it comes free
            freed.append(name)
            frozen.execute("SELECT 1").fetchone()

    with pytest.raises(Unavailable, match="PostgreSQL"):
        freeze()
    assert freed == [name]


@pytest.mark.parametrize(("error", "kind"), [
    (errors.LockNotAvailable(), Conflict),
    (errors.DeadlockDetected(), Conflict),
    (errors.SerializationFailure(), Conflict),
    (errors.QueryCanceled(), CallFailed),
    (errors.ProgramLimitExceeded(), CallFailed),
    (errors.DiskFull(), Unavailable),
    (errors.TooManyConnections(), Unavailable),
    (errors.AdminShutdown(), Unavailable),
    (errors.ReadOnlySqlTransaction(), Unavailable),
    (errors.IdleInTransactionSessionTimeout(), Unavailable),
    (psycopg.OperationalError("the connection is lost"), Unavailable),
    (errors.UndefinedTable(), None),
    (errors.UniqueViolation(), None),
])  # fmt: skip
def test_each_error_has_its_fault(error: Exception, kind: type[Unavailable] | None) -> None:
    fault = fault_of(error)
    assert (None if fault is None else type(fault)) == kind


def test_every_connection_has_the_limits_that_free_what_it_holds(pool: Pool) -> None:
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    shown = fetch_all(pool, *((f"SHOW {name}", {}) for name in names))
    assert shown == [[("15s",)], [("10s",)], [("15s",)]]
