"""What PostgreSQL holds at one moment, and how writers of code documents are kept waiting meanwhile."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Final

import psycopg
from psycopg import IsolationLevel, sql

from querymill_shared.values import value
from querymill_workers.backup.unusable import Unusable
from querymill_workers.postgres.queries import statements

_SQL: Final = statements("querymill_workers.backup", "snapshot.sql")


@value
class Snapshot:
    """A transaction that sees the database as it was at one moment, ``at``. ``name`` is for other sessions."""

    connection: psycopg.Connection
    name: str
    at: datetime

    @property
    def server(self) -> int:
        """The major version of the server."""
        return self.connection.info.server_version // 10_000

    def migrations(self) -> tuple[str, ...]:
        """Return the names of the migrations that the database has."""
        return tuple(name for (name,) in self.connection.execute(_SQL["migrations"]).fetchall())

    def dropped_since(self, accepted_us: int) -> bool:
        """Whether anything was forgotten by a job that was accepted at this moment (µs) or later."""
        return self.connection.execute(_SQL["dropped_since"], {"us": accepted_us}).fetchone() == (True,)


@contextmanager
def writers_of_modules_held(url: str) -> Iterator[None]:
    """Keep writers of code documents waiting. Each waits for 5 s, and its step comes again later."""
    with _patient(url) as connection:
        connection.execute(_SQL["hold_modules"])
        yield


@contextmanager
def snapshot_of(url: str) -> Iterator[Snapshot]:
    """Open a transaction that sees the database as it is now.

    Raises:
        Unusable: The database has no schema.
    """
    with _patient(url, one_moment=True) as connection:
        connection.execute(_SQL["across"])
        if connection.execute("SELECT to_regclass('schema_migrations') IS NULL").fetchone() == (True,):
            raise Unusable("DATABASE_URL: the database has no schema, so there is nothing to back up")
        ((name, at),) = connection.execute(_SQL["export"]).fetchall()
        yield Snapshot(connection, name, at)


def rows_of_tables(connection: psycopg.Connection) -> Mapping[str, int]:
    """Return the number of rows of each table that a transaction sees, by the table's quoted name with its schema."""
    counted = {}
    for table, name in connection.execute(_SQL["tables"], {}).fetchall():
        statement = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))
        ((counted[name],),) = connection.execute(statement).fetchall()
    return counted


@contextmanager
def _patient(url: str, *, one_moment: bool = False) -> Iterator[psycopg.Connection]:
    """Open a transaction without time limits."""
    with psycopg.connect(url, connect_timeout=5, prepare_threshold=None) as connection:
        if one_moment:
            connection.isolation_level = IsolationLevel.REPEATABLE_READ
            connection.read_only = True
        connection.execute(_SQL["unhurried"])
        yield connection
        connection.rollback()
