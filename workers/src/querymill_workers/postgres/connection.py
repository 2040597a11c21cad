"""Connections to PostgreSQL, made per process after start, never over a fork."""

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

#: A connection that answered less than this ago is lent without asking whether it lives, in seconds.
TRUSTED_FOR_S = 1.0


class CheckedConnection(Connection[TupleRow]):
    """A connection that remembers when it answered last, and when any of this process answered or failed."""

    answered_at: float = -math.inf
    any_answered_at: ClassVar[float] = -math.inf
    failed_at: ClassVar[float] = -math.inf


class _OwnTransaction(threading.local):
    """The connection of the transaction that a thread is in the middle of."""

    connection: CheckedConnection | None = None


class Pool(ConnectionPool[CheckedConnection]):
    """A pool that lends a thread within `joined` the connection of that transaction again."""

    def __init__(self, url: str, **options: Any) -> None:
        self.joined = _OwnTransaction()
        super().__init__(url, **options)


#: What a server that is away, or that has hung up, ends in.
_AWAY = (psycopg.OperationalError, psycopg.errors.IdleInTransactionSessionTimeout, psycopg_pool.PoolTimeout)
#: A statement that takes longer than this is given up, in milliseconds.
STATEMENT_TIMEOUT_MS = 15_000


def open_pool(url: str, *, max_size: int = 16, timeout_s: float = 5.0) -> Pool:
    """Open a pool; idle connections are checked before use, so a restarted server costs one retry, not an error."""
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
    """Let an array stand for a vector in a statement; no type is named, so that the server need not be asked for it."""
    connection.adapters.register_dumper(np.ndarray, VectorBinaryDumper)


def _check_the_idle(connection: CheckedConnection) -> None:
    if connection.answered_at < max(time.monotonic() - TRUSTED_FOR_S, CheckedConnection.failed_at):
        ConnectionPool.check_connection(connection)


@contextmanager
def lent(pool: Pool) -> Iterator[Connection[TupleRow]]:
    """Lend a connection for one transaction."""
    with borrowed(pool) as connection, connection.transaction():
        yield connection


@contextmanager
def joined(pool: Pool) -> Iterator[Connection[TupleRow]]:
    """Lend a connection for one transaction, which every other use of the pool by this thread joins until it ends."""
    with borrowed(pool) as connection, connection.transaction():
        pool.joined.connection = connection
        try:
            yield connection
        finally:
            pool.joined.connection = None


def fetch_all(pool: Pool, *asked: tuple[Any, Mapping[str, Any]]) -> list[list[TupleRow]]:
    """Run statements in one transaction and return the rows of each; the server is waited for once for them all."""
    with borrowed(pool) as connection:
        with connection.pipeline():  # what is between two syncs of a pipeline is one transaction
            cursors = [connection.execute(statement, values) for statement, values in asked]
        return [cursor.fetchall() for cursor in cursors]


@contextmanager
def borrowed(pool: Pool) -> Iterator[CheckedConnection]:
    """Lend a connection without a transaction; a server that is away is `Unavailable`, not a bug."""
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
        joined_connection.execute("RESET ROLE")  # a store before may have become a role that sees one collection only
        yield joined_connection
        return
    connection = _take(pool)
    try:
        with connection:
            yield connection
    finally:
        pool.putconn(connection)


def _take(pool: Pool) -> CheckedConnection:
    """Take a connection out of the pool, waiting for one as long as the server answers anybody.

    Raises:
        psycopg_pool.PoolTimeout: None came free in the pool's time limit, and none answered meanwhile either.
    """
    while True:
        try:
            return pool.getconn()
        except psycopg_pool.PoolTimeout:
            # A pool that many threads share may be busy for longer than a server may be silent.
            if CheckedConnection.any_answered_at < time.monotonic() - pool.timeout:
                raise


def literal(vector: npt.NDArray[np.float32]) -> str:
    """Write a vector as pgvector reads it; no bit of a float32 is lost."""
    return "[" + ",".join(map(str, vector.tolist())) + "]"
