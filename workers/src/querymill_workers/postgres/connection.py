"""Connections to PostgreSQL. Each process opens its own pool after it has started, never before a fork."""

import math
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import psycopg
import psycopg_pool
from pgvector.psycopg.vector import VectorBinaryDumper
from psycopg import Connection
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool

from querymill_workers.jobs.faults import Unavailable

#: A connection that was used successfully within this time is lent without a check, in seconds.
TRUSTED_FOR_S = 1.0


class CheckedConnection(Connection[TupleRow]):
    """A connection that records its last success, and the last success and failure of the process, for checks."""

    answered_at: float = -math.inf
    any_answered_at: ClassVar[float] = -math.inf
    failed_at: ClassVar[float] = -math.inf


class _OwnTransaction(threading.local):
    """The connection of the transaction that the current thread has open, if it may be joined."""

    connection: CheckedConnection | None = None


class Pool(ConnectionPool[CheckedConnection]):
    """A pool that, within `joined`, lends a thread the connection of its open transaction again."""

    def __init__(self, url: str, **options: Any) -> None:
        self.joined = _OwnTransaction()
        super().__init__(url, **options)


#: The errors of a server that does not respond or has closed the connection.
_AWAY = (psycopg.OperationalError, psycopg.errors.IdleInTransactionSessionTimeout, psycopg_pool.PoolTimeout)
#: The server cancels a statement that takes longer than this, in milliseconds.
STATEMENT_TIMEOUT_MS = 15_000


def open_pool(url: str, *, max_size: int = 16, timeout_s: float = 5.0) -> Pool:
    """Open a pool. Idle connections are checked before use, so a server restart costs a retry instead of an error."""
    options = {
        "options": f"-c statement_timeout={STATEMENT_TIMEOUT_MS}",
        "connect_timeout": 5,
        "autocommit": True,  # transactions begin where they are asked for
    }
    return Pool(
        url,
        min_size=1,
        max_size=max_size,
        timeout=timeout_s,
        kwargs=options,
        connection_class=CheckedConnection,
        configure=_take_vectors,
        check=_check_the_idle,
        open=True,
    )


def _take_vectors(connection: CheckedConnection) -> None:
    """Accept arrays as vector parameters. No type is named, so the server is not asked for one."""
    connection.adapters.register_dumper(np.ndarray, VectorBinaryDumper)


def _check_the_idle(connection: CheckedConnection) -> None:
    if connection.answered_at < max(time.monotonic() - TRUSTED_FOR_S, CheckedConnection.failed_at):
        ConnectionPool.check_connection(connection)


@contextmanager
def lent(pool: Pool) -> Iterator[Connection[TupleRow]]:
    """Lend a connection within one transaction."""
    with borrowed(pool) as connection, connection.transaction():
        yield connection


@contextmanager
def joined(pool: Pool) -> Iterator[Connection[TupleRow]]:
    """Lend a connection within one transaction. Until it ends, other uses of the pool by this thread join it."""
    with borrowed(pool) as connection, connection.transaction():
        pool.joined.connection = connection
        try:
            yield connection
        finally:
            pool.joined.connection = None


def fetch_all(pool: Pool, *asked: tuple[Any, Mapping[str, Any]]) -> list[list[TupleRow]]:
    """Run statements in one transaction and one round trip, and return the rows of each."""
    with borrowed(pool) as connection:
        with connection.pipeline():  # statements between two syncs of a pipeline are one transaction
            cursors = [connection.execute(statement, values) for statement, values in asked]
        return [cursor.fetchall() for cursor in cursors]


@contextmanager
def borrowed(pool: Pool) -> Iterator[CheckedConnection]:
    """Lend a connection without a transaction.

    Raises:
        Unavailable: The server does not respond, or no connection came free.
    """
    try:
        with _connection(pool) as connection:
            yield connection
            connection.answered_at = CheckedConnection.any_answered_at = time.monotonic()
    except _AWAY as error:
        CheckedConnection.failed_at = time.monotonic()
        raise Unavailable(f"PostgreSQL: {type(error).__name__}") from error


@contextmanager
def _connection(pool: Pool) -> Iterator[CheckedConnection]:
    joined_connection = pool.joined.connection
    if joined_connection is not None:
        joined_connection.execute("RESET ROLE")  # an earlier store may have set a role that sees one collection only
        yield joined_connection
        return
    connection = _take(pool)
    try:
        with connection:
            yield connection
    finally:
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
