"""What PostgreSQL holds at one moment, and what blocks writers of code documents during the copy."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import datetime
from typing import Final

import psycopg
from psycopg import IsolationLevel, sql

from querymill_shared.values import value
from querymill_workers.backup.errors import BackupError
from querymill_workers.postgres.connection import connect, notice_lost_client
from querymill_workers.postgres.queries import statements

_SQL: Final = statements("querymill_workers.backup", "snapshot.sql")
#: Writers of code documents are blocked for this long at most, in seconds.
HOLD_S: Final = 900


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
    """Block writers of code documents. Each waits for 5 s, and its step comes again later.

    After `HOLD_S` the server lets them go on, even if this process is frozen.

    Raises:
        BackupError: They were blocked for that long, so they may have written.
    """
    with _patient(url) as connection:
        connection.execute(_SQL["hold_modules"])
        connection.execute(_SQL["hold_limit"], {"limit": f"{HOLD_S}s"})
        yield
        try:
            connection.execute("SELECT 1")
        except psycopg.errors.IdleInTransactionSessionTimeout as error:
            raise BackupError(
                f"MONGODB_URI: copying the code documents took longer than {HOLD_S} s, for which their writers are"
                " blocked; make that server respond faster, and back up again"
            ) from error


@contextmanager
def snapshot_of(url: str) -> Iterator[Snapshot]:
    """Open a transaction that sees the database as it is now.

    Raises:
        BackupError: The database has no schema.
    """
    with _patient(url, one_moment=True) as connection:
        connection.execute(_SQL["across"])
        if connection.execute("SELECT to_regclass('schema_migrations') IS NULL").fetchone() == (True,):
            raise BackupError("DATABASE_URL: the database has no schema, so there is nothing to back up")
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
    """Open a transaction without time limits, which ends if the host of this process is gone."""
    with closing(connect(url)) as connection:
        if one_moment:
            connection.isolation_level = IsolationLevel.REPEATABLE_READ
            connection.read_only = True
        notice_lost_client(connection)
        connection.execute(_SQL["unhurried"])
        yield connection
