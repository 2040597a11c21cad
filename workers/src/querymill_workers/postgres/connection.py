"""Connections to PostgreSQL. Each process opens its own pool after it has started, never before a fork."""

import math
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, Final, Literal, LiteralString

import numpy as np
import numpy.typing as npt
import psycopg
import psycopg_pool
from pgvector.psycopg.vector import VectorBinaryDumper
from psycopg import Connection
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool

from querymill_shared.tracing import part
from querymill_workers.postgres.checked_connection import (
    CHECK_S,
    RESPONSE_S,
    STATEMENT_TIMEOUT_MS,
    UNHURRIED_S,
    CheckedConnection,
    listed,
)
from querymill_workers.postgres.faults import fault_of
from querymill_workers.postgres.queries import SESSION

#: Whether statements that run often are prepared.
Prepares = Literal["auto", "on", "off"]

#: A connection that was used successfully within this time is lent without a check, in seconds.
TRUSTED_FOR_S = 1.0
#: The server gives up waiting for one lock after this long: another worker was first.
LOCK_TIMEOUT_MS = 10_000
#: The same for a lock that many may want.
CONTENDED_MS = 5_000
#: The server ends a transaction whose worker says nothing for this long: it is frozen, or cut off. Its locks are free.
SILENCE_MS = 15_000
#: The server ends a transaction that takes longer than this, in milliseconds; that of a whole session may take longer.
#: Within a pipeline the server does not notice silence. PostgreSQL knows this limit since version 17.
TRANSACTION_MS, JOINED_TRANSACTION_MS = 25_000, 60_000
#: The same as `SILENCE_MS` for a transaction that only holds a lock, while its worker waits for other statements.
HOLDER_SILENCE_MS = 20_000
#: A worker lets the server hear from such a transaction before a statement if this has passed, in seconds.
HEARD_EVERY_S = 2.0
#: What every connection asks for. Texts come as UTF-8, whatever the environment or the address says. Both sides notice
#: within about ten seconds that the other host is gone.
_CLIENT_OPTIONS: Final[Mapping[str, Any]] = {
    "connect_timeout": 5, "client_encoding": "utf8",
    "keepalives": 1, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000,
}  # fmt: skip
_SERVER_KEEPALIVE: Final = {
    "tcp_keepalives_idle": "5", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "3",
    "tcp_user_timeout": "10000",
}  # fmt: skip
#: What holds in every transaction, whatever the role, the database or the environment has set.
_KEPT: Final = {
    "statement_timeout": str(STATEMENT_TIMEOUT_MS),
    "lock_timeout": str(LOCK_TIMEOUT_MS),
    "idle_in_transaction_session_timeout": str(SILENCE_MS),
    "querymill.walled": "on",
    "querymill.across": "off",
}
#: A pool gives up connecting after this long, in seconds; the next caller makes it connect again. With the library's
#: own limit of five minutes, the waits between its attempts grow to two minutes.
_RECONNECT_S: Final = 2.0


class _OwnTransaction(threading.local):
    """The transactions that the current thread has open: one that may be joined, and one that only holds a lock."""

    connection: CheckedConnection | None = None
    holder: CheckedConnection | None = None
    heard_at: float = -math.inf

    def be_heard(self) -> None:
        """Let the server hear from the connection that holds a lock, now and then.

        Raises:
            psycopg.Error: The lock is lost: the server has ended the transaction.
        """
        if self.holder is not None and time.monotonic() - self.heard_at >= HEARD_EVERY_S:
            self.holder.execute("SELECT 1")
            self.heard_at = time.monotonic()


class Pool(ConnectionPool[CheckedConnection]):
    """A pool that, within `joined`, lends a thread the connection of its open transaction again."""

    def __init__(self, url: str, *, prepares: Prepares, **options: Any) -> None:
        self.url = url
        self.own = _OwnTransaction()
        self._renewed_at = -math.inf
        super().__init__(
            url, connection_class=CheckedConnection, configure=partial(_prepare, prepares=prepares),
            check=self._check_the_idle, **options,
        )  # fmt: skip

    def renew(self, lost: CheckedConnection) -> None:
        """Replace the connections, once for all that are as old as one that is of no more use."""
        if lost.opened_at > self._renewed_at:
            self._renewed_at = time.monotonic()
            self.drain()

    def _check_the_idle(self, connection: CheckedConnection) -> None:
        if connection.answered_at >= max(time.monotonic() - TRUSTED_FOR_S, CheckedConnection.failed_at):
            return
        connection.limit_s = CHECK_S
        try:
            ConnectionPool.check_connection(connection)
        finally:
            connection.limit_s = RESPONSE_S
            if connection.fell_silent:
                self.renew(connection)


def open_pool(url: str, *, max_size: int = 16, timeout_s: float = 5.0, prepares: Prepares = "auto") -> Pool:
    """Open a pool. Idle connections are checked before use, so a server restart costs a retry instead of an error.

    Statements that run often are prepared if ``prepares`` is on; if it is auto, only in sessions that no pooler lends
    to others.
    """
    return Pool(
        url,
        prepares=prepares,
        min_size=1,
        max_size=max_size,
        timeout=timeout_s,
        reconnect_timeout=_RECONNECT_S,
        kwargs={"autocommit": True, **_CLIENT_OPTIONS},  # transactions begin where they are asked for
        open=True,
    )


def connect(url: str, *, autocommit: bool = False) -> Connection[TupleRow]:
    """Open a connection past the pool, without its limits. It prepares nothing: a pooler may lend it to others."""
    return psycopg.connect(url, autocommit=autocommit, prepare_threshold=None, **_CLIENT_OPTIONS)


def notice_lost_client(connection: Connection[TupleRow]) -> None:
    """Let the server end the current transaction soon after the host of this client is gone."""
    connection.execute(SESSION["keep_in_transaction"], listed(_SERVER_KEEPALIVE))


def _prepare(connection: CheckedConnection, *, prepares: Prepares) -> None:
    """Accept arrays as vectors, and set what holds in every transaction: a pooler refuses or ignores startup options.

    No type is named, so the server is not asked for one.
    """
    connection.adapters.register_dumper(np.ndarray, VectorBinaryDumper)
    connection.limits_transactions = connection.info.server_version >= 170_000
    limits = {"transaction_timeout": str(TRANSACTION_MS)} if connection.limits_transactions else {}
    path = connection.execute(SESSION["safe_path"]).fetchall()
    connection.kept = {**_KEPT, **limits, "search_path": path[0][0]}
    # A pooler makes up the process that it names to a client.
    values = listed(connection.kept | _SERVER_KEEPALIVE) | {"pid": connection.info.backend_pid}
    connection.has_own_session = bool(connection.execute(SESSION["keep_in_session"], values).fetchall())
    if prepares == "off" or (prepares == "auto" and not connection.has_own_session):
        connection.prepare_threshold = None  # another client's statement may have the name, or the server not know ours
    connection.opened_at = time.monotonic()


@contextmanager
def lent(pool: Pool, *, keeps_role: bool = False) -> Iterator[CheckedConnection]:
    """Lend a connection within one transaction."""
    with borrowed(pool, keeps_role=keeps_role) as connection, transaction_on(connection):
        yield connection


@contextmanager
def within(pool: Pool, collection: str) -> Iterator[CheckedConnection]:
    """Lend a connection that sees one collection, within one transaction.

    Statements are sent together, up to the first whose rows are read, but not in a transaction that is joined: that
    one holds locks, and within a pipeline the server does not notice that its worker has fallen silent.
    """
    is_joined = pool.own.connection is not None
    # The role that an earlier store has set need not be reset: another takes its place.
    with lent(pool, keeps_role=True) as connection, nullcontext() if is_joined else connection.pipeline():
        connection.execute(SESSION["as_reader"], {"collection": collection})
        yield connection


@contextmanager
def across(pool: Pool) -> Iterator[CheckedConnection]:
    """Lend a connection that sees the rows of all collections, within one transaction: no request may ask for this."""
    with lent(pool) as connection:
        connection.execute(SESSION["across"], {"state": "on"})
        yield connection
        connection.execute(SESSION["across"], {"state": "off"})  # the transaction may be a joined one, and go on


@contextmanager
def joined(pool: Pool) -> Iterator[CheckedConnection]:
    """Lend a connection within one transaction. Until it ends, other uses of the pool by this thread join it."""
    with borrowed(pool) as connection, transaction_on(connection):
        connection.limit_transaction(JOINED_TRANSACTION_MS)
        pool.own.connection = connection
        try:
            yield connection
        finally:
            pool.own.connection = None


@contextmanager
def holding(pool: Pool) -> Iterator[CheckedConnection]:
    """Lend a connection within one transaction, whose locks are held while this thread uses other connections.

    If the thread uses none for `HOLDER_SILENCE_MS`, the server ends the transaction, and the thread's next use of the
    pool raises.
    """
    with borrowed(pool) as connection, transaction_on(connection):
        connection.limit_transaction(0)
        connection.execute(SESSION["silence_limit"], {"limit": str(HOLDER_SILENCE_MS)})
        pool.own.holder, pool.own.heard_at = connection, time.monotonic()
        try:
            yield connection
        finally:
            pool.own.holder = None


@contextmanager
def transaction_on(connection: CheckedConnection) -> Iterator[None]:
    """Open a transaction. What ends one that failed is not waited for long."""
    is_first = connection.info.transaction_status == TransactionStatus.IDLE
    with connection.transaction():
        if is_first:
            connection.keep_settings()
        try:
            yield
        except BaseException:
            connection.limit_s = CHECK_S
            raise


def take_lock(connection: Connection[Any], statement: LiteralString, values: Mapping[str, Any]) -> None:
    """Take a lock that many may want. Who waits for it too long comes again later, and leaves the connection to others.

    Raises:
        psycopg.errors.LockNotAvailable: It did not come free within `CONTENDED_MS`.
    """
    # No pipeline: psycopg ends it with Sync and Flush, and after Flush the server does not notice silence.
    connection.execute(SESSION["lock_limit"], {"limit": str(CONTENDED_MS)})
    connection.execute(statement, values)
    connection.execute(SESSION["lock_limit"], {"limit": str(LOCK_TIMEOUT_MS)})


def unhurried(connection: Connection[Any], *, limit_ms: int = 0) -> None:
    """Lift the time limit of statements until the transaction ends, or replace it by another."""
    connection.execute(SESSION["statement_limit"], {"limit": str(limit_ms)})
    if isinstance(connection, CheckedConnection):
        connection.limit_transaction(limit_ms)
        connection.limit_s = limit_ms / 1000 + CHECK_S if limit_ms else UNHURRIED_S


@contextmanager
def borrowed(pool: Pool, *, keeps_role: bool = False) -> Iterator[CheckedConnection]:
    """Lend a connection without a transaction. One that is joined acts as the owner, unless it keeps its role.

    Raises:
        Unavailable: The server does not respond, or no connection came free.
        Conflict: Another worker was first.
        Failed: A statement was too much for the server.
    """
    try:
        with (
            part("postgresql", "CLIENT", db__system__name="postgresql"),
            _connection(pool, keeps_role=keeps_role) as connection,
        ):
            yield connection
            connection.answered_at = CheckedConnection.any_answered_at = time.monotonic()
    except (psycopg.Error, psycopg_pool.PoolTimeout) as error:
        fault = fault_of(error)
        if fault is None:
            raise
        if fault.cause == "outage":
            CheckedConnection.failed_at = time.monotonic()
        raise fault from error


@contextmanager
def _connection(pool: Pool, *, keeps_role: bool) -> Iterator[CheckedConnection]:
    pool.own.be_heard()
    joined_connection = pool.own.connection
    if joined_connection is not None:
        if not keeps_role:
            joined_connection.execute("RESET ROLE")  # an earlier store may have set one that sees one collection only
        yield joined_connection
        return
    connection = _take(pool)
    try:
        with connection:
            yield connection
    except psycopg.errors.ReadOnlySqlTransaction:
        pool.renew(connection)  # the address may lead to another server by now, which takes writes
        raise
    finally:
        connection.limit_s = RESPONSE_S
        if connection.fell_silent:
            pool.renew(connection)
        pool.putconn(connection)


def _take(pool: Pool) -> CheckedConnection:
    """Take a connection from the pool. Keep waiting while the server still responds to other connections.

    Raises:
        psycopg_pool.PoolTimeout: No connection came free within the pool's time limit, and the server responded to
            none during that time.
    """
    while True:
        try:
            return pool.getconn()
        except psycopg_pool.PoolTimeout:
            # A pool that many threads share may be busy for longer than a server may take to respond.
            if CheckedConnection.any_answered_at < time.monotonic() - pool.timeout:
                raise


def literal(vector: npt.NDArray[np.float32]) -> str:
    """Write a vector as pgvector reads it, without losing a bit of any float32."""
    return "[" + ",".join(map(str, vector.tolist())) + "]"
