"""The database that is restored into: what it holds, how it is emptied and filled."""

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg
from psycopg import sql

from querymill_workers.backup.archive import Archive
from querymill_workers.backup.errors import BackupError
from querymill_workers.backup.programs import environment_of
from querymill_workers.backup.snapshot import rows_of_tables
from querymill_workers.postgres import row_security
from querymill_workers.postgres.connection import connect
from querymill_workers.postgres.migrate import SchemaMismatch, migrate
from querymill_workers.postgres.queries import statements
from querymill_workers.postgres.schema import migrations, schema

_SQL: Final = statements("querymill_workers.backup", "database.sql")
_MADE: Final = re.compile(
    r"\bCREATE (?:OR REPLACE )?(FUNCTION|SEQUENCE|DOMAIN)\s+(?:IF NOT EXISTS\s+)?(\w+)", re.IGNORECASE
)
_MIGRATIONS: Final = "schema_migrations"


def holds_documents(url: str) -> bool:
    """Whether a table of Querymill has a row. A schema without rows is no reason to keep it."""
    with _owners(url) as connection:
        for table in _own_tables(connection):
            found = sql.SQL("SELECT EXISTS (SELECT FROM {})").format(sql.Identifier(table))
            if table != _MIGRATIONS and connection.execute(found).fetchone() == (True,):
                return True
    return False


def prepare(url: str) -> None:
    """Make the role and pgvector that the tables need. What is stored does not change.

    Raises:
        BackupError: An administrator must make them.
    """
    with _connected(url) as connection:
        if to_run := row_security.prepare_role(connection):
            raise BackupError(
                f"DATABASE_URL: an administrator must run in this database: {'; '.join(to_run)}; then restore again"
            )


def fill(url: str, archive: Archive, expected: Mapping[str, int]) -> Sequence[str]:
    """Replace what is stored by an archive, and bring that to this release's schema. `prepare` comes first.

    The former contents are dropped first, and do not come back if the archive cannot be restored after that.

    Returns the migrations that were applied.

    Raises:
        BackupError: The archive does not fit, or rows are missing.
    """
    with _connected(url) as connection:
        _empty(connection)
    with tempfile.NamedTemporaryFile("w", suffix=".list", encoding="utf-8") as chosen:
        chosen.write(archive.use_list())
        chosen.flush()
        archive.programs.run(
            "pg_restore", "--single-transaction", "--exit-on-error", "--no-owner", "--no-comments",
            f"--use-list={chosen.name}", "--dbname=", str(archive.path),  # what it is called is in the environment
            environment=environment_of(url),
        )  # fmt: skip
    _check_rows(url, expected, archive.path)
    try:
        return migrate(url)
    except SchemaMismatch as error:
        raise BackupError(str(error)) from error


def _check_rows(url: str, expected: Mapping[str, int], path: Path) -> None:
    with _owners(url) as connection:
        found = rows_of_tables(connection)
    wrong = [
        f"{table} {found.get(table, 0)} instead of {rows}"
        for table, rows in expected.items()
        if found.get(table, 0) != rows
    ]
    if wrong:
        raise BackupError(
            f"{path}: these tables have other numbers of rows than they should: {'; '.join(wrong)};"
            " restore another backup with --replace"
        )


def _empty(connection: psycopg.Connection) -> None:
    """Drop all that a schema of ours consists of."""
    for table in _own_tables(connection):
        connection.execute(sql.SQL("DROP TABLE {} CASCADE").format(sql.Identifier(table)))
    named = _MADE.findall("\n".join([schema(), *(migration.text for migration in migrations())]))
    values = {
        f"{kind}s": [name.lower() for made, name in named if made.lower() == kind]
        for kind in ("function", "sequence", "domain")
    }
    # What falls with another is not there to be dropped any more, so they are asked for again.
    while rest := connection.execute(_SQL["own_rest"], values).fetchone():
        connection.execute(rest[0].encode())


def _own_tables(connection: psycopg.Connection) -> list[str]:
    values = {"tables": [*row_security.tables_made(), _MIGRATIONS]}
    return [table for (table,) in connection.execute(_SQL["own_tables"], values).fetchall()]


@contextmanager
def _owners(url: str) -> Iterator[psycopg.Connection]:
    """Open a transaction in which the owner sees all rows, even before `migrate` has made the policies for that."""
    with _connected(url) as connection:
        row_security.lower_walls(connection)
        yield connection
        connection.rollback()


@contextmanager
def _connected(url: str) -> Iterator[psycopg.Connection]:
    with connect(url) as connection:
        yield connection
