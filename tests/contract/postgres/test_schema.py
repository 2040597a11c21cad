"""A database of the baseline, migrated since, has the schema of a new one."""

from collections.abc import Iterator

import psycopg
import pytest

from querymill_workers.postgres import migrate as migrating
from querymill_workers.postgres.migrate import migrate
from querymill_workers.postgres.schema import BASELINE, Migration
from tests.fixtures import schemas
from tests.fixtures.databases import own_database
from tests.fixtures.schemas import schema_of
from tests.fixtures.short_forms import all_at_night


@pytest.fixture
def new_url(database: psycopg.Connection) -> Iterator[str]:
    """A second empty database."""
    host = database.info
    with own_database(database) as name:
        yield f"postgresql://{host.user}:{host.password}@{host.host}:{host.port}/{name}"


def make_baseline(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a database as release 0.1.0 made it."""
    with monkeypatch.context() as patched:
        patched.setattr(migrating, "schema", lambda: schemas.BASELINE.read_text(encoding="utf-8"))
        patched.setattr(migrating, "migrations", lambda: [BASELINE])
        migrate(url)


def test_the_migrations_since_the_baseline_lead_to_the_schema(
    empty_url: str, new_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_baseline(empty_url, monkeypatch)
    migrate(empty_url)
    migrate(new_url)
    assert schema_of(empty_url) == schema_of(new_url)


@pytest.mark.parametrize(
    "change",
    all_at_night(
        [
            "ALTER TABLE reports ADD COLUMN pages integer",
            "ALTER TABLE reports ALTER COLUMN period SET NOT NULL",
            "DROP INDEX documents_last",
            "ALTER TABLE reports ALTER COLUMN title SET STATISTICS 100",
            "DROP TRIGGER chat_vectors_added ON chat_vectors",
            "ALTER TABLE reports DISABLE ROW LEVEL SECURITY",
            "ALTER FUNCTION note_embedded() SET search_path = public",
            "REVOKE INSERT ON reports FROM querymill_reader",
        ],
        short=["DROP INDEX documents_last", "ALTER TABLE reports DISABLE ROW LEVEL SECURITY"],
    ),
)
def test_a_change_without_a_migration_is_seen(
    change: str, empty_url: str, new_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(empty_url)
    migrate(new_url)
    with psycopg.connect(new_url) as connection:
        connection.execute(change.encode())
    assert schema_of(empty_url) != schema_of(new_url)


def test_a_migration_is_applied_to_a_database_of_the_baseline_and_not_to_a_new_one(
    empty_url: str, new_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_baseline(empty_url, monkeypatch)
    added = Migration(2, "0002_mark.sql", "CREATE TABLE mark (collection text)")
    monkeypatch.setattr(migrating, "migrations", lambda: [BASELINE, added])
    assert migrate(empty_url) == ["0002_mark.sql"]
    assert migrate(empty_url) == []
    assert migrate(new_url) == ["0001_baseline", "0002_mark.sql"]
    with psycopg.connect(new_url) as connection:  # its schema is that of this release, whose files lack the table
        assert connection.execute("SELECT to_regclass('mark')").fetchone() == (None,)


def test_a_database_of_a_version_before_the_baseline_is_refused_and_stays_as_it_is(empty_url: str) -> None:
    with psycopg.connect(empty_url) as connection:
        connection.execute(
            "CREATE TABLE schema_migrations (number integer PRIMARY KEY, name text, applied timestamptz)"
        )
        connection.execute("INSERT INTO schema_migrations VALUES (1, '0001_reports.sql', now())")
    for refused in (migrating.check, migrate):
        with pytest.raises(migrating.SchemaMismatch, match=r"made by a version before 0\.1\.0.*export the documents"):
            refused(empty_url)
    with psycopg.connect(empty_url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    assert tables == [("schema_migrations",)]
