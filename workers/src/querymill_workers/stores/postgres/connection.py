"""Connections to PostgreSQL, made per process after start, never over a fork."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import psycopg
import psycopg_pool
from psycopg import Connection
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool

from querymill_workers.ports import Unavailable

Pool = ConnectionPool[Connection[TupleRow]]

#: A statement that takes longer than this is given up, in milliseconds.
STATEMENT_TIMEOUT_MS = 15_000


def open_pool(url: str, *, most: int = 16, timeout_s: float = 5.0) -> Pool:
    """Open a pool; connections are checked before use, so a restarted server costs one retry, not an error."""
    options = {"options": f"-c statement_timeout={STATEMENT_TIMEOUT_MS}", "connect_timeout": 5}
    return ConnectionPool(
        url,
        min_size=1,
        max_size=most,
        timeout=timeout_s,
        kwargs=options,
        check=ConnectionPool.check_connection,
        open=True,
    )


@contextmanager
def lent(pool: Pool) -> Iterator[psycopg.Connection]:
    """Lend a connection for one transaction; a server that is away is `Unavailable`, not a bug."""
    try:
        with pool.connection() as connection:
            yield connection
    except (psycopg.OperationalError, psycopg_pool.PoolTimeout) as error:
        raise Unavailable(f"PostgreSQL: {type(error).__name__}") from error


def literal(vector: npt.NDArray[np.float32]) -> str:
    """Write a vector as pgvector reads it; no bit of a float32 is lost."""
    return "[" + ",".join(map(str, vector.tolist())) + "]"
