"""Apply numbered migrations to a database. Processes that start together apply each only once."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import psycopg
from psycopg import sql

#: The key of the advisory lock that serialises migrations.
_LOCK = 7_203_041


class SchemaMismatch(Exception):
    """Raised when the schema does not fit this release. The message says what to do."""


@dataclass(frozen=True, slots=True)
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
    """Apply the missing migrations in one transaction, and return their names.

    Raises:
        SchemaMismatch: The tables were made for vectors of another dimension.
    """
    with psycopg.connect(url, connect_timeout=5) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_migrations"
            " (number integer PRIMARY KEY, name text NOT NULL, applied timestamptz NOT NULL DEFAULT now())"
        )
        done = {number for (number,) in connection.execute("SELECT number FROM schema_migrations")}
        missing = [migration for migration in migrations() if migration.number not in done]
        # Checked first: new tables must have the dimension of the old ones.
        _refuse_other_dimensions(connection, dimensions)
        for migration in missing:
            text = re.sub(r"\{dimensions\}", str(int(dimensions)), migration.text)
            connection.execute(sql.SQL(text))
            connection.execute(
                "INSERT INTO schema_migrations (number, name) VALUES (%s, %s)",
                [migration.number, migration.name],
            )
    check(url, dimensions=dimensions)
    return [migration.name for migration in missing]


def check(url: str, *, dimensions: int) -> None:
    """Check that a database has every migration, and vectors of the model's dimension.

    Raises:
        SchemaMismatch: A migration is missing, or the dimension differs. The message says what to do.
    """
    with psycopg.connect(url, connect_timeout=5) as connection:
        known = connection.execute("SELECT to_regclass('schema_migrations') IS NOT NULL").fetchone() == (True,)
        rows = connection.execute("SELECT number FROM schema_migrations").fetchall() if known else []
        done = {number for (number,) in rows}
        missing = [migration.name for migration in migrations() if migration.number not in done]
        if missing:
            raise SchemaMismatch(
                f"DATABASE_URL: missing migrations {', '.join(missing)}; run python -m querymill_workers.migrate"
            )
        _refuse_other_dimensions(connection, dimensions)


def _refuse_other_dimensions(connection: psycopg.Connection, dimensions: int) -> None:
    rows = connection.execute(
        "SELECT DISTINCT atttypmod FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid"
        " WHERE atttypid = to_regtype('vector') AND relkind = 'r' AND relnamespace = to_regnamespace(current_schema())"
    )
    other_sizes = [size for (size,) in rows if size != dimensions]
    if other_sizes:
        raise SchemaMismatch(
            f"EMBEDDING_MODEL: the model has {dimensions} dimensions, the tables were made for {other_sizes[0]};"
            f" use a model with {other_sizes[0]} dimensions, or another database"
        )
