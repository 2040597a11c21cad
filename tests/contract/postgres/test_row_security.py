"""The second wall on a real server: every table has it, whoever migrates, and an administrator is told what to run."""

import re
from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from querymill_workers.postgres import row_security
from querymill_workers.postgres.connection import across, joined, lent, open_pool, within
from querymill_workers.postgres.migrate import SchemaMismatch, check, migrate
from querymill_workers.words.ports import WordUnit
from querymill_workers.words.postgres import PostgresWords
from tests.fixtures.databases import own_database

#: Tables that belong to no collection. They are not even used on behalf of one, and their wall is not for the owner.
OF_NO_COLLECTION = {"schema_migrations": "which migrations a database has"}
MARKS = ["querymill.walled", "querymill.across"]
TABLES = (
    "SELECT c.oid, c.relname, c.relrowsecurity, c.relforcerowsecurity FROM pg_class AS c"
    " WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace"
)


@pytest.fixture
def own_url(empty_url: str) -> str:
    """A database with the newest schema, for this test alone."""
    migrate(empty_url)
    return empty_url


@pytest.fixture
def plain_url(database_url: str) -> Iterator[str]:
    """An empty database whose owner may make no role, as a managed PostgreSQL gives it."""
    name = f"p{uuid4().hex}"
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'plain'")
        connection.execute(f"GRANT {name} TO CURRENT_USER")
        host = database_url.rsplit("@", 1)[1].rsplit("/", 1)[0]
        with own_database(connection, owner=name) as database_name:
            yield f"postgresql://{name}:plain@{host}/{database_name}"
        connection.execute(f"DROP ROLE {name}")


def owner_of(url: str) -> str:
    return url.split("//")[1].split(":")[0]


def test_every_table_has_a_wall_or_a_named_reason_to_have_none(own_url: str) -> None:
    with psycopg.connect(own_url) as connection:
        tables = connection.execute(TABLES).fetchall()
    assert {name for _, name, *_ in tables} >= {"reports", "chat_messages", "conversations", "code_files", "word_runs"}
    assert [name for _, name, is_walled, _ in tables if not is_walled and not row_security.OPEN.get(name)] == []
    # Neither list outlives its tables, and nothing is on both.
    reasons = {**row_security.OPEN, **OF_NO_COLLECTION}
    assert reasons.keys() <= {name for _, name, *_ in tables}
    assert [name for _, name, is_walled, _ in tables if is_walled and name in row_security.OPEN] == []
    assert {name for _, name, _, is_forced in tables if not is_forced} == reasons.keys()


def test_the_role_sees_no_row_of_any_walled_table_without_a_collection(own_url: str) -> None:
    with psycopg.connect(own_url, autocommit=True) as connection:
        found = connection.execute(TABLES).fetchall()
        tables = [name for _, name, is_walled, _ in found if is_walled and name not in OF_NO_COLLECTION]
        for table in tables:
            plans = connection.execute(
                "SELECT pg_get_expr(polqual, polrelid), polroles FROM pg_policy"
                " WHERE polrelid = %s::regclass AND polname = 'own_collection'",
                [table],
            ).fetchall()
            assert len(plans) == 1, table
            # Of its own collection, or of a table that has this wall.
            assert re.search(
                r"current_setting\('querymill.collection'|SELECT \w+\.number\s+FROM word_indexes", plans[0][0]
            )
        with connection.transaction():
            connection.execute("SET LOCAL ROLE querymill_reader")
            for table in tables:
                statement = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))
                assert connection.execute(statement).fetchone() == (0,), table


def test_a_wall_that_fell_is_named_and_raised_again(own_url: str) -> None:
    with psycopg.connect(own_url) as connection:
        connection.execute("ALTER TABLE report_pages DISABLE ROW LEVEL SECURITY")
        connection.execute("DROP POLICY own_collection ON report_vectors")
        connection.execute("REVOKE SELECT ON code_chunks FROM querymill_reader")
    with pytest.raises(SchemaMismatch, match=r"may not use the table code_chunks; .*report_pages .*report_vectors"):
        check(own_url)
    assert migrate(own_url) == []
    check(own_url)


def test_what_stands_is_not_touched(own_url: str) -> None:
    statement = "SELECT oid, xmin FROM pg_policy ORDER BY oid"
    with psycopg.connect(own_url, autocommit=True) as connection:
        before = connection.execute(statement).fetchall()
        migrate(own_url)
        assert connection.execute(statement).fetchall() == before


def test_a_table_of_another_program_is_left_alone(empty_url: str) -> None:
    with psycopg.connect(empty_url) as connection:
        connection.execute("CREATE TABLE postcards (collection text)")
    migrate(empty_url)
    with psycopg.connect(empty_url) as connection:
        walled = connection.execute("SELECT relrowsecurity FROM pg_class WHERE relname = 'postcards'").fetchone()
    assert walled == (False,)


def test_an_owner_without_rights_migrates_once_an_administrator_has_granted_the_role(
    plain_url: str, database: psycopg.Connection
) -> None:
    expected = (
        f'must run in this database: GRANT "querymill_reader" TO "{owner_of(plain_url)}"; then run querymill migrate'
    )
    with pytest.raises(SchemaMismatch, match=expected):
        migrate(plain_url)
    database.execute(f"GRANT querymill_reader TO {owner_of(plain_url)}")
    assert migrate(plain_url)
    check(plain_url)
    with open_pool(plain_url, max_size=2) as pool:
        words = PostgresWords(pool)
        words.put("c", "messages", [WordUnit("u", "ships")])
        words.tidy()
        assert [hit.id for hit in words.search("c", "messages", "ships", limit=9)] == ["u"]
        assert words.search("d", "messages", "ships", limit=9) == []


def test_an_owner_without_rights_is_told_to_have_the_role_made(
    plain_url: str, database: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_security, "ROLE", f"r{uuid4().hex}")
    with psycopg.connect(plain_url) as connection:
        to_run = row_security.prepare_role(connection)
        assert to_run == [
            f'CREATE ROLE "{row_security.ROLE}"',
            f'GRANT "{row_security.ROLE}" TO "{owner_of(plain_url)}"',
        ]
        for statement in to_run:
            database.execute(statement.encode())
        assert row_security.prepare_role(connection) == []
        connection.rollback()
    database.execute(f"DROP ROLE {row_security.ROLE}")


def test_a_role_that_may_be_granted_but_not_taken_on_is_refused(plain_url: str, database: psycopg.Connection) -> None:
    name = owner_of(plain_url)
    database.execute(f"GRANT querymill_reader TO {name} WITH SET FALSE")
    with psycopg.connect(plain_url) as connection:
        assert row_security.prepare_role(connection) == [f'GRANT "querymill_reader" TO "{name}"']
    database.execute(f"GRANT querymill_reader TO {name} WITH SET TRUE")
    with psycopg.connect(plain_url) as connection:
        assert row_security.prepare_role(connection) == []


def test_a_wrong_owner_and_functions_that_could_act_for_somebody_else_are_named(
    own_url: str, database: psycopg.Connection
) -> None:
    check(own_url)
    with psycopg.connect(own_url) as connection:
        connection.execute("GRANT CREATE ON SCHEMA public TO querymill_reader")
        connection.execute("ALTER TABLE tombstones OWNER TO querymill_reader")
        connection.execute("ALTER FUNCTION note_embedded() RESET search_path")
        connection.execute("ALTER FUNCTION metadata_hashes(jsonb) SECURITY DEFINER")
    expected = (
        r"table tombstones belongs to querymill_reader: .*metadata_hashes\(jsonb\) runs with the rights of its owner"
        r".*note_embedded\(\) has no search_path"
    )
    with pytest.raises(SchemaMismatch, match=expected):
        check(own_url)


def test_no_function_runs_with_the_rights_of_its_owner(own_url: str) -> None:
    statement = (
        "SELECT proname FROM pg_proc WHERE prosecdef AND pronamespace NOT IN"
        " ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)"
    )
    with psycopg.connect(own_url) as connection:
        assert connection.execute(statement).fetchall() == []


def test_a_temporary_table_does_not_stand_in_for_one_of_ours(own_url: str) -> None:
    with open_pool(own_url, max_size=1) as pool, pool.connection() as connection:
        connection.execute("CREATE TEMPORARY TABLE reports (collection text)")
        assert connection.execute("SELECT 'reports'::regclass = 'public.reports'::regclass").fetchone() == (True,)


def test_the_owner_sees_the_rows_of_a_forced_table_only_where_it_says_across(own_url: str) -> None:
    add = "INSERT INTO tombstones (collection, kind, forgotten_us, forgotten_by) VALUES ('c', 'k', 1, 'j')"
    count = "SELECT count(*) FROM tombstones"
    with open_pool(own_url, max_size=1) as pool, joined(pool):
        with within(pool, "c") as connection:
            connection.execute(add)
        with within(pool, "c") as connection:
            assert connection.execute(count).fetchone() == (1,)
        with within(pool, "other") as connection:
            assert connection.execute(count).fetchone() == (0,)
        with across(pool) as connection:
            assert connection.execute(count).fetchone() == (1,)


def test_a_session_of_a_worker_sees_no_row_as_the_owner_and_any_other_session_of_the_owner_is_refused(
    own_url: str,
) -> None:
    add = "INSERT INTO report_generations (collection, generation) VALUES ('c', 1)"
    count = "SELECT count(*) FROM report_generations"
    refused = pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security would hide all rows")
    with open_pool(own_url, max_size=1) as pool:
        with across(pool) as connection:
            connection.execute(add)
            assert connection.execute(count).fetchone() == (1,)
        with lent(pool) as connection:
            assert connection.execute(count).fetchone() == (0,)
            with (
                pytest.raises(psycopg.errors.InsufficientPrivilege, match="violates row-level security"),
                connection.transaction(),
            ):
                connection.execute("INSERT INTO report_generations (collection, generation) VALUES ('d', 1)")
    with psycopg.connect(own_url, autocommit=True) as unmarked:
        for setting in ("", "off", "false", "0"):  # not set, or set to something else than on
            unmarked.execute("SELECT set_config(name, %s, false) FROM unnest(%s::text[]) AS name", [setting, MARKS])
            for statement in (count, add.replace("'c'", "'d'"), "DELETE FROM report_generations"):
                with refused:
                    unmarked.execute(statement.encode())


def test_a_policy_that_opens_a_wall_is_named_and_dropped_and_that_of_another_role_is_left_alone(own_url: str) -> None:
    with psycopg.connect(own_url) as connection:
        connection.execute("CREATE POLICY open ON code_files TO querymill_reader USING (true)")
        connection.execute("CREATE POLICY analysts ON code_files TO pg_monitor USING (true)")
        connection.execute("CREATE POLICY lately ON tombstones USING (true)")
    with pytest.raises(SchemaMismatch, match=r"code_files .*: open; .*tombstones .*: lately"):
        check(own_url)
    migrate(own_url)
    check(own_url)
    with psycopg.connect(own_url) as connection:
        left = connection.execute("SELECT polname FROM pg_policy WHERE polrelid = 'code_files'::regclass").fetchall()
    assert ("analysts",) in left
    assert ("open",) not in left


def test_across_ends_with_its_block(own_url: str) -> None:
    count = "SELECT count(*) FROM tombstones"
    with psycopg.connect(own_url) as connection:
        connection.execute("SET LOCAL querymill.across = on")
        connection.execute(
            "INSERT INTO tombstones (collection, kind, forgotten_us, forgotten_by) VALUES ('c', 'k', 1, 'j')"
        )
    with open_pool(own_url, max_size=1) as pool, joined(pool):
        with across(pool) as connection:
            assert connection.execute(count).fetchone() == (1,)
        with lent(pool) as connection:
            # The setting of the collection is empty here, so the owner sees what the role would: nothing.
            assert connection.execute(count).fetchone() == (0,)
