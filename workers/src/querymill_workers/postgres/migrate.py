"""Bring a database to the newest numbered migration, once, whoever comes first."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import psycopg
from psycopg import sql

#: Serialises the migrations of processes that start together.
_LOCK = 7_203_041


class SchemaMismatch(Exception):
    """The database is not as this code needs it; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered step of the schema."""

    number: int
    name: str
    text: str


def migrations() -> Sequence[Migration]:
    """Read the numbered migrations, first to last."""
    folder = resources.files("querymill_workers.postgres") / "migrations"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return [Migration(int(file.name[:4]), file.name, file.read_text()) for file in files]


def migrate(url: str, *, dimensions: int) -> list[str]:
    """Apply what is missing, each in the same transaction as its note; return the names applied.

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
        # Before, not after: a new table must not be made for another dimension than the old ones.
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
    """Refuse a database that lacks a migration, or whose vectors have another dimension than the model's.

    Raises:
        SchemaMismatch: With the mend.
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
            f"EMBEDDING_MODEL: it gives {dimensions} dimensions, the tables were made for {other_sizes[0]};"
            " use the model they were made for, or another database"
        )
