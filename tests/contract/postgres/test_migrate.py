"""Migrations on a real server: once each, whichever process starts first."""

import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import psycopg
import pytest

from querymill_workers.postgres import migrate as migrating
from querymill_workers.postgres.migrate import SchemaMismatch, WritesRefused, check, migrate
from querymill_workers.postgres.schema import Migration, migrations
from tests.fixtures.databases import drop_database, own_database

NAMES = [migration.name for migration in migrations()]


def applied(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM schema_migrations ORDER BY number")]


def test_an_empty_database_gets_every_migration_in_order(empty_url: str) -> None:
    assert migrate(empty_url) == NAMES
    assert applied(empty_url) == NAMES
    check(empty_url)


def test_processes_that_start_together_apply_each_migration_once(empty_url: str) -> None:
    with ThreadPoolExecutor(4) as starting:
        told = list(starting.map(lambda _: migrate(empty_url), range(4)))
    assert sorted(told, key=len) == [[], [], [], NAMES]
    assert applied(empty_url) == NAMES


def test_a_database_without_a_schema_is_refused_with_what_to_run(empty_url: str) -> None:
    with pytest.raises(SchemaMismatch, match=f"missing migrations {', '.join(NAMES)}; run querymill migrate"):
        check(empty_url)


def test_a_missing_migration_is_named(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate(empty_url)
    monkeypatch.setattr(migrating, "migrations", lambda: [*migrations(), Migration(9_000, "9000_mark.sql", "")])
    with pytest.raises(SchemaMismatch, match=r"missing migrations 9000_mark\.sql; run querymill migrate"):
        check(empty_url)


def test_the_schema_may_have_a_name_that_needs_quotes(empty_url: str) -> None:
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute('CREATE SCHEMA "Of the ""mill"""')
        connection.execute(
            f'ALTER DATABASE {connection.info.dbname} SET search_path = "Of the ""mill""", public'.encode()
        )
    migrate(empty_url)
    with psycopg.connect(empty_url) as connection:
        connection.execute("SET LOCAL querymill.across = on")
        connection.execute(
            "INSERT INTO chat_messages (collection, session_id, message_key, number, content, created_at, metadata)"
            " VALUES ('c', 's', 'k', 0, '', now(), '{\"owner\": \"ada\"}')"
        )
        noted = "SELECT text FROM chat_messages, metadata_entries(metadata) WHERE fields = metadata_fields(metadata)"
        assert connection.execute(noted).fetchall() == [("ada",)]


def test_no_column_of_vectors_has_dimensions(empty_url: str) -> None:
    migrate(empty_url)
    with psycopg.connect(empty_url) as connection:
        fixed = connection.execute(
            "SELECT attrelid::regclass::text FROM pg_attribute WHERE atttypid = to_regtype('vector') AND atttypmod > 0"
        ).fetchall()
    assert fixed == []


def test_a_migration_that_fails_leaves_nothing_behind(empty_url: str) -> None:
    with psycopg.connect(empty_url) as connection:
        connection.execute("CREATE TABLE text_vectors (in_the_way integer)")
    with pytest.raises(psycopg.errors.DuplicateTable):
        migrate(empty_url)
    with psycopg.connect(empty_url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    assert tables == [("text_vectors",)]


def test_a_database_is_dropped_although_a_session_that_we_may_not_end_is_left(database: psycopg.Connection) -> None:
    role, host = f"r{uuid4().hex}", database.info
    database.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'plain'".encode())
    with own_database(database) as name:
        other = psycopg.connect(f"postgresql://{role}:plain@{host.host}:{host.port}/{name}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="terminate process"):
            database.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
        closing = threading.Timer(1, other.close)
        closing.start()
    closing.join()
    database.execute(f"DROP ROLE {role}".encode())


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1", "EUC_JP"])
def test_a_database_of_another_encoding_is_refused_in_one_line(
    database_url: str, database: psycopg.Connection, encoding: str
) -> None:
    name = f"t{uuid4().hex}"
    database.execute(
        f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LOCALE_PROVIDER libc LOCALE 'C'".encode()
    )
    url = f"{database_url.rsplit('/', 1)[0]}/{name}"
    try:
        for refused in (lambda: migrate(url), lambda: check(url)):
            with pytest.raises(SchemaMismatch, match=rf"^DATABASE_URL: .* {encoding} and must be UTF8.*$"):
                refused()
    finally:
        drop_database(database, name)


def test_a_migration_gives_up_where_searches_would_wait_behind_it(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(empty_url)
    longer = [*migrations(), Migration(9_000, "9000_mark.sql", "ALTER TABLE reports ADD COLUMN mark text")]
    monkeypatch.setattr(migrating, "migrations", lambda: longer)
    with ThreadPoolExecutor(1) as starting, psycopg.connect(empty_url) as backup:
        backup.execute("SET LOCAL querymill.across = on")
        backup.execute("SELECT 1 FROM reports")
        told = starting.submit(migrate, empty_url)
        with pytest.raises(WritesRefused, match=r"for longer than 5 s; nothing was changed: wait"):
            told.result(timeout=30)
    assert applied(empty_url) == NAMES
    assert migrate(empty_url) == ["9000_mark.sql"]


def test_a_wall_is_raised_later_where_searches_would_wait_behind_it(empty_url: str) -> None:
    migrate(empty_url)
    with psycopg.connect(empty_url) as connection:
        connection.execute("ALTER TABLE reports NO FORCE ROW LEVEL SECURITY")
    with ThreadPoolExecutor(1) as starting, psycopg.connect(empty_url) as backup:
        backup.execute("SELECT 1 FROM reports")
        with pytest.raises(WritesRefused, match=r"nothing was changed"):
            starting.submit(migrate, empty_url).result(timeout=30)
    migrate(empty_url)
    check(empty_url)
