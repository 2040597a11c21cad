"""Apply numbered migrations to a database. Processes that start together apply each only once."""

import re
import time
from collections.abc import Sequence
from importlib import resources

import psycopg
from psycopg import sql

from querymill_shared.values import frozen
from querymill_workers.postgres.walls import lower_walls, missing_walls, prepare_role, raise_walls

#: The key of the advisory lock that serialises migrations.
_LOCK = 7_203_041


class SchemaMismatch(Exception):
    """Raised when the schema does not fit this release. The message says what to do."""


@frozen
class Migration:
    """One numbered change of the schema."""

    number: int
    name: str
    text: str


def migrations() -> Sequence[Migration]:
    """Return all migrations in the order of their numbers."""
    folder = resources.files("querymill_workers.postgres") / "migrations"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return [Migration(int(file.name[:4]), file.name, file.read_text()) for file in files]


def migrate(url: str, *, dimensions: int) -> list[str]:
    """Apply the missing migrations and raise the missing walls in one transaction. Return the migrations' names.

    ``dimensions`` are those of the columns that the first migrations make. Later ones take vectors of any.

    Raises:
        SchemaMismatch: An administrator must act first.
    """
    with psycopg.connect(url, connect_timeout=5) as connection:
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
        done = {number for (number,) in connection.execute("SELECT number FROM schema_migrations")}
        missing = [migration for migration in migrations() if migration.number not in done]
        if missing:
            lower_walls(connection)
        for migration in missing:
            text = re.sub(r"\{dimensions\}", str(int(dimensions)), migration.text)
            connection.execute(sql.SQL(text))
            connection.execute(
                "INSERT INTO schema_migrations (number, name) VALUES (%s, %s)",
                [migration.number, migration.name],
            )
        raise_walls(connection)
    check(url)
    return [migration.name for migration in missing]


def database_ahead_s(url: str) -> float:
    """Return by how many seconds the clock of a database's server is ahead of this process's."""
    with psycopg.connect(url, connect_timeout=5) as connection:
        before = time.time()
        ((seconds,),) = connection.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchall()
        return float(seconds) - (before + time.time()) / 2


def check(url: str) -> None:
    """Check that a database has every migration and every wall.

    Raises:
        SchemaMismatch: A migration or a wall is missing. The message says what to do.
    """
    with psycopg.connect(url, connect_timeout=5) as connection:
        known = connection.execute("SELECT to_regclass('schema_migrations') IS NOT NULL").fetchone() == (True,)
        rows = connection.execute("SELECT number FROM schema_migrations").fetchall() if known else []
        done = {number for (number,) in rows}
        missing = [migration.name for migration in migrations() if migration.number not in done]
        if missing:
            raise SchemaMismatch(f"DATABASE_URL: missing migrations {', '.join(missing)}; run querymill migrate")
        if walls := missing_walls(connection):
            raise SchemaMismatch(f"DATABASE_URL: {'; '.join(walls)}; run querymill migrate")
