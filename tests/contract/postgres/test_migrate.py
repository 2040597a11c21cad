"""Migrations on a real server: once each, whoever starts first, and never for another dimension."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import psycopg
import pytest

from querymill_workers.postgres.migrate import SchemaMismatch, check, migrate, migrations
from tests.fakes.vectors import DIMENSIONS

NAMES = [migration.name for migration in migrations()]


@pytest.fixture
def empty_url(database_url: str) -> Iterator[str]:
    """A database without a schema."""
    name = f"m{uuid4().hex}"
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield f"{database_url.rsplit('/', 1)[0]}/{name}"
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def applied(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM schema_migrations ORDER BY number")]


def test_an_empty_database_gets_every_migration_in_order(empty_url: str) -> None:
    assert migrate(empty_url, dimensions=DIMENSIONS) == NAMES
    assert applied(empty_url) == NAMES
    check(empty_url, dimensions=DIMENSIONS)


def test_processes_that_start_together_apply_each_migration_once(empty_url: str) -> None:
    with ThreadPoolExecutor(4) as starting:
        told = list(starting.map(lambda _: migrate(empty_url, dimensions=DIMENSIONS), range(4)))
    assert sorted(told, key=len) == [[], [], [], NAMES]
    assert applied(empty_url) == NAMES


def test_a_database_without_a_schema_is_refused_with_what_to_run(empty_url: str) -> None:
    with pytest.raises(SchemaMismatch, match=r"missing migrations 0001_reports\.sql.*run python -m querymill_workers"):
        check(empty_url, dimensions=DIMENSIONS)


def test_a_missing_migration_is_named(empty_url: str) -> None:
    migrate(empty_url, dimensions=DIMENSIONS)
    with psycopg.connect(empty_url) as connection:
        connection.execute("DELETE FROM schema_migrations WHERE number = 3")
    with pytest.raises(SchemaMismatch, match=r"missing migrations 0003_words\.sql;"):
        check(empty_url, dimensions=DIMENSIONS)


def test_another_dimension_is_refused_with_the_one_that_fits(empty_url: str) -> None:
    migrate(empty_url, dimensions=DIMENSIONS)
    for refuse in (check, migrate):
        with pytest.raises(SchemaMismatch, match=f"model has 7 dimensions.*use a model with {DIMENSIONS} dimensions"):
            refuse(empty_url, dimensions=7)


def test_a_migration_that_fails_leaves_nothing_behind(empty_url: str) -> None:
    with psycopg.connect(empty_url) as connection:
        connection.execute("CREATE TABLE text_vectors (in_the_way integer)")
    with pytest.raises(psycopg.errors.DuplicateTable):
        migrate(empty_url, dimensions=DIMENSIONS)
    with psycopg.connect(empty_url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    assert tables == [("text_vectors",)]
