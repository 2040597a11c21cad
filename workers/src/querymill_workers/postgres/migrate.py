"""Bring a database to this release's schema. Processes that start together apply each change only once.

The schema stands in the ``schema.sql`` of each room. A new database gets it as it is. A database of an older release
gets the numbered migrations that it lacks; they lead to the same schema, and a test compares the two.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import psycopg

from querymill_workers.postgres.connection import CONTENDED_MS, Prepares, connect, lent, open_pool
from querymill_workers.postgres.queries import SESSION
from querymill_workers.postgres.row_security import lower_walls, missing_walls, prepare_role, raise_walls
from querymill_workers.postgres.schema import BASELINE, Migration, migrations, schema

#: The key of the advisory lock that serialises migrations.
_LOCK: Final = 7_203_041
#: What a pooler says that cannot serve workers, and what to do about it.
_POOLERS: Final[Mapping[str, str]] = {
    "unsupported startup parameter": "take the options out of the address and out of PGOPTIONS,"
    " or add them to ignore_startup_parameters of the pooler",
    "statement pooling": "its pool_mode is statement, and workers need transactions: set it to transaction or session",
}


class SchemaMismatch(Exception):
    """Raised when the database, or what is in front of it, does not fit this release. The message says what to do."""


class WritesRefused(Exception):
    """Raised when the database takes no writes for now. The message says what to do."""


def migrate(url: str) -> list[str]:
    """Give a database what it lacks of the schema, and raise the missing walls, in one transaction.

    Returns the names of the migrations that were applied. A new database gets all of them at once.

    Raises:
        SchemaMismatch: An administrator must act first, or the schema is of a version before 0.1.0.
        WritesRefused: Another session holds a table for so long that searches would wait behind the migration.
    """
    with _connected(url) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        if to_run := prepare_role(connection):
            raise SchemaMismatch(
                f"DATABASE_URL: an administrator must run in this database: {'; '.join(to_run)};"
                " then run querymill migrate"
            )
        connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_migrations"
            " (number integer PRIMARY KEY, name text NOT NULL, applied timestamptz NOT NULL DEFAULT now())"
        )
        missing = _missing(connection)
        if BASELINE in missing:
            _run(connection, schema())
        with _tables_in_time(connection):
            if BASELINE not in missing and missing:
                lower_walls(connection)
                for migration in missing:
                    _run(connection, migration.text)
            for migration in missing:
                connection.execute(
                    "INSERT INTO schema_migrations (number, name) VALUES (%s, %s)", [migration.number, migration.name]
                )
            raise_walls(connection)
    check(url)
    return [migration.name for migration in missing]


@contextmanager
def _tables_in_time(connection: psycopg.Connection) -> Iterator[None]:
    """Wait for no table for long. Everybody else waits behind who waits for one, so a long backup would stop the fleet.

    Raises:
        WritesRefused: Another session held a table for too long.
    """
    connection.execute(SESSION["lock_limit"], {"limit": str(CONTENDED_MS)})
    try:
        yield
    except psycopg.errors.LockNotAvailable as error:
        raise WritesRefused(
            f"DATABASE_URL: another session, such as a backup, held a table for longer than {CONTENDED_MS // 1000} s;"
            " nothing was changed: wait for its end (pg_stat_activity lists sessions), then run querymill migrate again"
        ) from error


def database_ahead_s(url: str) -> float:
    """Return by how many seconds the clock of a database's server is ahead of this process's."""
    with connect(url) as connection:
        before = time.time()
        ((seconds,),) = connection.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchall()
        return float(seconds) - (before + time.time()) / 2


def check_writable(url: str) -> None:
    """Check that a server takes writes.

    Raises:
        WritesRefused: It does not.
        SchemaMismatch: As `migrate`.
    """
    with _connected(url) as connection:
        ((is_standby, is_read_only),) = connection.execute(
            "SELECT pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'"
        ).fetchall()
    if is_standby:
        raise WritesRefused(
            "DATABASE_URL: the server is a standby and takes no writes: name the primary, or all hosts with"
            " target_session_attrs=read-write"
        )
    if is_read_only:
        raise WritesRefused(
            "DATABASE_URL: the server takes no writes: default_transaction_read_only is on for it, for the database"
            " or for the role: turn it off"
        )


def check(url: str, *, prepares: Prepares = "auto") -> None:
    """Check that a database has every migration and every wall, and that the limits of workers hold on a connection.

    If statements are to be prepared, whatever is in front of the server must keep them.

    Raises:
        SchemaMismatch: Something is missing. The message says what to do.
    """
    with _connected(url) as connection:
        known = connection.execute("SELECT to_regclass('schema_migrations') IS NOT NULL").fetchone() == (True,)
        if missing := [migration.name for migration in (_missing(connection) if known else migrations())]:
            raise SchemaMismatch(f"DATABASE_URL: missing migrations {', '.join(missing)}; run querymill migrate")
        if walls := missing_walls(connection):
            raise SchemaMismatch(f"DATABASE_URL: {'; '.join(walls)}; run querymill migrate")
    with open_pool(url, max_size=1) as pool, lent(pool) as connection:
        rows = connection.execute(SESSION["in_force"], {"names": list(connection.kept)}).fetchall()
        if lost := lost_settings(connection.kept, dict(rows)):
            raise SchemaMismatch(f"DATABASE_URL: {lost}")
    if prepares == "on":
        _prepare_twice(url)


def _prepare_twice(url: str) -> None:
    """Prepare statements of the same name on two connections, which a pooler may serve from one session.

    Raises:
        SchemaMismatch: The second was taken for the first, or none was found again.
    """
    try:
        with connect(url, autocommit=True) as one, connect(url, autocommit=True) as other:
            for connection in (one, other, one, other):
                connection.prepare_threshold = 0
                connection.execute("SELECT %s::int", [1])
    except (psycopg.errors.DuplicatePreparedStatement, psycopg.errors.InvalidSqlStatementName) as error:
        raise SchemaMismatch(
            "DATABASE_URL: the pooler does not keep prepared statements apart: set its max_prepared_statements"
            " (PgBouncer 1.21 or newer), or QUERYMILL_PREPARED_STATEMENTS to auto"
        ) from error


def lost_settings(wanted: Mapping[str, str], found: Mapping[str, str | None]) -> str | None:
    """Say which settings of a transaction are not those that workers set, and what to do, or None."""
    lost = [f"{name} is {found.get(name) or 'not set'} instead of {value}" for name, value in wanted.items()
            if found.get(name) != value]  # fmt: skip
    if not lost:
        return None
    return f"{'; '.join(lost)}: something between workers and server drops settings; connect to the server directly"


@contextmanager
def _connected(url: str) -> Iterator[psycopg.Connection]:
    """Connect in one transaction.

    Raises:
        SchemaMismatch: The database is of another encoding, or a pooler in front of it cannot serve workers.
    """
    try:
        with connect(url) as connection:
            encoding = connection.info.parameter_status("server_encoding")
            if encoding != "UTF8":
                raise SchemaMismatch(
                    f"DATABASE_URL: the encoding of the database is {encoding} and must be UTF8: make one with"
                    " CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8'"
                )
            yield connection
    except psycopg.OperationalError as error:
        for said, remedy in _POOLERS.items():
            if said in str(error):
                raise SchemaMismatch(f"DATABASE_URL: the pooler says {_reason(error)}: {remedy}") from error
        raise


def _reason(error: psycopg.Error) -> str:
    """Return the server's own words, without the address."""
    return str(error).strip().splitlines()[0].rpartition("FATAL: ")[2].strip()


def _missing(connection: psycopg.Connection) -> Sequence[Migration]:
    """Return the migrations that a database lacks."""
    done: dict[int, str] = dict(connection.execute("SELECT number, name FROM schema_migrations").fetchall())
    if done.get(BASELINE.number, BASELINE.name) != BASELINE.name:
        raise SchemaMismatch(
            "DATABASE_URL: the schema was made by a version before 0.1.0, which no migration leads from;"
            " export the documents with that version, and ingest them into an empty database"
        )
    return [migration for migration in migrations() if migration.number not in done]


def _run(connection: psycopg.Connection, text: str) -> None:
    """Run statements, with the current schema for ``{schema}``."""
    for (schema_name,) in connection.execute("SELECT quote_ident(current_schema())").fetchall():
        connection.execute(text.replace("{schema}", schema_name).encode())
