"""Reading several statements as one: in one snapshot, or in one round trip."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from psycopg import Cursor, IsolationLevel
from psycopg.rows import TupleRow

from querymill_workers.postgres.checked_connection import CheckedConnection
from querymill_workers.postgres.connection import Pool, borrowed, transaction_on


@contextmanager
def snapshot(pool: Pool) -> Iterator[CheckedConnection]:
    """Lend a connection whose statements all see one snapshot. Until it ends, other uses by this thread join it.

    Within `joined` or another snapshot, that transaction is used.
    """
    with borrowed(pool) as connection:
        if connection is pool.own.connection:
            yield connection
            return
        connection.isolation_level = IsolationLevel.REPEATABLE_READ
        try:
            with transaction_on(connection):
                pool.own.connection = connection
                try:
                    yield connection
                finally:
                    pool.own.connection = None
        finally:
            connection.isolation_level = None


def fetch_all(pool: Pool, *asked: tuple[Any, Mapping[str, Any]]) -> list[list[TupleRow]]:
    """Run statements in one transaction and one round trip, and return the rows of each.

    Settings of these statements end with them, also within a transaction that continues.
    """
    with borrowed(pool) as connection:
        if connection is pool.own.connection:
            with connection.transaction(force_rollback=True), connection.pipeline():
                cursors = _execute(connection, asked)
        else:
            with connection.pipeline():  # statements between two syncs of a pipeline are one transaction
                connection.keep_settings()
                cursors = _execute(connection, asked)
        return [cursor.fetchall() for cursor in cursors]


def _execute(connection: CheckedConnection, asked: Sequence[tuple[Any, Mapping[str, Any]]]) -> list[Cursor[TupleRow]]:
    return [connection.execute(statement, values) for statement, values in asked]
