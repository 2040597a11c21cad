"""A dump of the database has the rows of every table, or it fails: whoever makes it, and with whatever options."""

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Final
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors, sql

from querymill_workers.postgres import row_security
from querymill_workers.postgres.migrate import check, migrate
from tests.fixtures.clusters import own_cluster, run_program
from tests.fixtures.short_forms import crossed
from tests.fixtures.tenant_rows import fill

TABLES: Final = (
    "SELECT c.relname FROM pg_class AS c WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace"
    " AND c.relrowsecurity IN (true, %(walled)s) ORDER BY 1"
)
#: What the command of `deploy/README.md` adds to the environment.
DOCUMENTED: Final = {"PGOPTIONS": "-c querymill.across=on"}
#: Who makes a dump: the owner, a superuser, a member of the owner, and others who may read every table.
ROLES: Final = {
    "querymill": "",
    "postgres": "",
    "deputy": "CREATE ROLE deputy LOGIN IN ROLE querymill",
    "keeper": "CREATE ROLE keeper LOGIN BYPASSRLS IN ROLE pg_read_all_data",
    "reader": "CREATE ROLE reader LOGIN IN ROLE pg_read_all_data",
    "auditor": "CREATE ROLE auditor LOGIN",
}
FORMS: Final[Mapping[str, tuple[list[str], Mapping[str, str]]]] = {
    "plain": ([], {}),
    "row-security": (["--enable-row-security"], {}),
    "documented": (["--enable-row-security"], DOCUMENTED),
    "inserts": (["--enable-row-security", "--inserts"], {}),
}
COMPLETE: Final = {*product(("postgres", "keeper"), FORMS), *product(("querymill", "deputy"), ["documented"])}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with own_cluster() as url:
        with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
            connection.execute("GRANT CREATE ON DATABASE postgres TO querymill")
            for statement in filter(None, ROLES.values()):
                connection.execute(statement.encode())
        yield url


@pytest.fixture(scope="module")
def source(server: str) -> str:
    """The name of a database with rows of two collections in every table."""
    name = empty_database(server)
    url = address(server, name)
    migrate(url)
    with psycopg.connect(url) as connection:
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO auditor")
        connection.execute("GRANT SELECT ON ALL SEQUENCES IN SCHEMA public TO auditor")
    for collection in ("fleet", "soup"):
        fill(url, collection, 4)
    assert [table for table, rows in counts(server, name, walled=True).items() if not rows] == []
    return name


def empty_database(server: str, owner: str = "querymill") -> str:
    name = f"d{uuid4().hex}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} OWNER {owner}".encode())
    return name


def address(server: str, database: str, user: str = "querymill") -> str:
    return f"{server.replace('postgres@', f'{user}@')}/{database}"


def counts(server: str, database: str, *, walled: bool = False) -> Mapping[str, int]:
    """The rows of each table, as the superuser counts them."""
    with psycopg.connect(f"{server}/{database}") as connection:
        names = [name for (name,) in connection.execute(TABLES, {"walled": walled}).fetchall()]
        count = sql.SQL("SELECT count(*) FROM {}")
        rows = [connection.execute(count.format(sql.Identifier(name))).fetchall() for name in names]
    return {name: row[0][0] for name, row in zip(names, rows, strict=True)}


@pytest.mark.parametrize(("role", "form"), crossed(ROLES, FORMS))
def test_a_dump_is_complete_or_fails(server: str, source: str, tmp_path: Path, role: str, form: str) -> None:
    file = str(tmp_path / "dump")
    options, environment = FORMS[form]
    place = address(server, source, role)
    dumped = run_program("pg_dump", "--format=custom", f"--file={file}", *options, place, environment=environment)
    if (role, form) not in COMPLETE:
        assert dumped.returncode == 1
        assert "row-level security" in dumped.stderr
        return
    assert (dumped.returncode, dumped.stderr) == (0, "")
    target = empty_database(server)
    restored = run_program("pg_restore", "--exit-on-error", f"--dbname={address(server, target, 'postgres')}", file)
    assert restored.returncode == 0, restored.stderr
    assert counts(server, target) == counts(server, source)


def test_every_table_with_a_wall_refuses_a_session_that_says_nothing(server: str, source: str) -> None:
    """However its rows are read, and each table alone: the list is the database's own."""
    tables = counts(server, source, walled=True).keys() - {"schema_migrations"}
    assert tables == row_security.tables_made() - row_security.OPEN.keys() - dropped_since(server, source)
    for table, form in product(sorted(tables), ("SELECT count(*) FROM {}", "DELETE FROM {}", "COPY {} TO STDOUT")):
        statement = sql.SQL(form).format(sql.Identifier(table))
        with (
            psycopg.connect(address(server, source)) as connection,
            pytest.raises(errors.InsufficientPrivilege, match=r"would hide all rows(.|\n)*querymill\.across=on"),
        ):
            read(connection, statement)


def read(connection: psycopg.Connection, statement: sql.Composed) -> None:
    with connection.cursor() as cursor:
        if not statement.as_string(connection).startswith("COPY"):
            cursor.execute(statement)
            return
        with cursor.copy(statement) as copy:
            list(copy)


def dropped_since(server: str, source: str) -> frozenset[str]:
    """Tables of early migrations that later ones drop."""
    return row_security.tables_made() - counts(server, source).keys()


def test_the_documented_dump_is_restored_by_an_owner_without_rights(server: str, source: str, tmp_path: Path) -> None:
    file = str(tmp_path / "dump")
    dumped = run_program(
        "pg_dump", "--enable-row-security", "--format=custom", f"--file={file}", address(server, source),
        environment=DOCUMENTED,
    )  # fmt: skip
    assert dumped.returncode == 0, dumped.stderr
    target = empty_database(server)
    url = address(server, target)
    restored = run_program("pg_restore", "--no-comments", "--exit-on-error", f"--dbname={url}", file)
    assert (restored.returncode, restored.stderr) == (0, "")
    assert counts(server, target) == counts(server, source)
    check(url)
    assert migrate(url) == []


def test_a_dump_is_restored_to_another_owner(server: str, source: str, tmp_path: Path) -> None:
    file = str(tmp_path / "dump")
    dumped = run_program("pg_dump", "--format=custom", f"--file={file}", address(server, source, "postgres"))
    assert dumped.returncode == 0, dumped.stderr
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute("CREATE ROLE heir LOGIN; GRANT querymill_reader TO heir")
    target = empty_database(server, owner="heir")
    url = address(server, target, "heir")
    restored = run_program("pg_restore", "--no-owner", "--no-comments", "--exit-on-error", f"--dbname={url}", file)
    assert (restored.returncode, restored.stderr) == (0, "")
    assert counts(server, target) == counts(server, source)
    migrate(url)
    check(url)
    with psycopg.connect(url) as connection:
        connection.execute("SET LOCAL querymill.across = on")
        assert connection.execute("SELECT count(*) > 0 FROM reports").fetchone() == (True,)


def test_a_guard_that_fell_is_named_and_put_up_again(server: str) -> None:
    url = address(server, empty_database(server))
    migrate(url)
    with psycopg.connect(url) as connection:
        connection.execute("DROP POLICY whole_dump ON schema_migrations")
    with pytest.raises(Exception, match="schema_migrations lacks the policy"):
        check(url)
    assert migrate(url) == []
    check(url)
