"""Connections to PostgreSQL, made per process after start, never over a fork."""

from psycopg import Connection
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool

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
