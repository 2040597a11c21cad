"""The second wall between collections: row-level security on every table of the schema.

The tables are read from the catalogue, so no migration can forget one. In a transaction of `connection.within`, a
statement runs as `ROLE` and sees the rows of one collection, whatever its predicates say. The owner sees no row either,
unless its transaction says that it goes over all collections (`connection.across`).

A session of the owner that is not a worker's, such as that of `pg_dump`, gets an error in place of no rows: a dump
without its rows would look like a dump. Sessions of workers have the mark `querymill.walled`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, LiteralString

import psycopg
from psycopg import sql

from querymill_shared.values import value
from querymill_workers.postgres.queries import statements
from querymill_workers.postgres.schema import migrations, schema

_SQL: Final = statements("querymill_workers.postgres", "row_security.sql")

#: The role that a statement on one collection runs as. Administrators make it by this name, so it never changes.
ROLE: Final = "querymill_reader"
#: Tables without a wall, each with the reason.
OPEN: Final[Mapping[str, str]] = {
    "conversation_collections": "names of collections and counts only; the daily rebuild lists what is due",
}

_OWN: Final = "own_collection"
_ALL: Final = "all_collections"
#: The policies that make the wall of a table.
_NEEDED: Final = frozenset({_OWN, _ALL})
#: The rows of the collection that the transaction names. A table without a column for it hangs on another table, and
#: its schema makes the policy.
_OWN_ROWS: Final = "collection = current_setting('querymill.collection', true)"
_ALL_ROWS: Final = (
    "CASE WHEN current_setting('querymill.across', true) = 'on' THEN true"
    " WHEN current_setting('querymill.walled', true) = 'on' THEN false ELSE refuse_to_hide_rows() END"
)
_MADE: Final = re.compile(r"(?:\bCREATE TABLE(?: IF NOT EXISTS)?|\bRENAME TO)\s+(\w+)", re.IGNORECASE)
_FUNCTION: Final = re.compile(r"\bCREATE (?:OR REPLACE )?FUNCTION\s+(\w+)", re.IGNORECASE)


@value
class _Table:
    """A table, and what stands of its wall."""

    name: str
    has_collection: bool
    is_walled: bool
    is_forced: bool
    policies: Sequence[str]
    is_granted: bool | None
    owner: str
    is_owned_well: bool

    @property
    def own_rows(self) -> LiteralString | None:
        """The predicate of the wall, or None if the table needs none, or its schema must make it."""
        return _OWN_ROWS if self.has_collection and self.name not in OPEN else None

    @property
    def lacks(self) -> str | None:
        """What is missing, or None."""
        if not self.is_granted:
            return f"the role {ROLE} may not use the table {self.name}"
        if self.name in OPEN:
            return None
        if not self.is_walled:
            return f"the table {self.name} has no row-level security"
        if not self.is_forced:
            return f"row-level security of the table {self.name} is not forced upon its owner"
        if set(self.policies) != _NEEDED:
            wrong = sorted(_NEEDED ^ set(self.policies))
            return f"the table {self.name} lacks a policy, or has one too many: {', '.join(wrong)}"
        return None

    @property
    def is_wrongly_owned(self) -> str | None:
        """Say so if the migrating user may not alter the table, or the role may. Migrations do not fix this."""
        if self.is_owned_well:
            return None
        return f"the table {self.name} belongs to {self.owner}: it must belong to who migrates, never to {ROLE}"


@value
class _Standing:
    """Who asks and in which schema, and what the role may do. ``role`` is None if it does not exist."""

    user: str
    schema: str
    role: str | None
    sees_all: bool | None
    may_be_taken: bool | None
    may_use_schema: bool | None

    def lacks(self) -> Iterator[sql.Composed]:
        """Yield the statements that are missing."""
        role, user, schema = sql.Identifier(ROLE), sql.Identifier(self.user), sql.Identifier(self.schema)
        if self.role is None:
            yield sql.SQL("CREATE ROLE {}").format(role)
        if self.sees_all:
            yield sql.SQL("ALTER ROLE {} NOSUPERUSER NOBYPASSRLS").format(role)
        if not self.may_be_taken:
            yield sql.SQL("GRANT {} TO {}").format(role, user)
        if self.role is not None and not self.may_use_schema:
            yield sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, role)


def prepare_role(connection: psycopg.Connection) -> list[str]:
    """Make the role and pgvector where an administrator has not. Return the statements that only one may run."""
    tried: set[str] = set()
    while missing := [statement.as_string(connection) for statement in _prerequisites(connection)]:
        if missing[0] in tried:
            break
        tried.add(missing[0])
        _try(connection, missing[0])
    return missing


def lower_walls(connection: psycopg.Connection) -> None:
    """Let the owner change all rows until `raise_walls`. Both belong into one transaction."""
    for table in _tables(connection):
        if table.is_forced:
            _alter(connection, table.name, "NO FORCE")


def raise_walls(connection: psycopg.Connection) -> None:
    """Bring every table to its wall. What stands already is not touched."""
    if not _has(connection, "has_guard"):
        connection.execute(_SQL["make_guard"])
    for table in _tables(connection):
        if table.lacks is not None:
            name, role = sql.Identifier(table.name), sql.Identifier(ROLE)
            connection.execute(sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON {} TO {}").format(name, role))
            if table.name not in OPEN:
                _raise_wall(connection, table)


def missing_walls(connection: psycopg.Connection) -> list[str]:
    """Say what is missing, one sentence each."""
    missing = [statement.as_string(connection) for statement in _prerequisites(connection)]
    tables = _tables(connection)
    found = [table.lacks for table in tables if table.lacks is not None]
    found += [table.is_wrongly_owned for table in tables if table.is_wrongly_owned is not None]
    found += _loose_functions(connection)
    if not _has(connection, "has_guard"):
        found.append("the table schema_migrations lacks the policy that makes a dump without rows fail")
    return [f"an administrator must run {statement}" for statement in missing] or found


def tables_made() -> frozenset[str]:
    """Return the names of our tables. Other tables in the database belong to others."""
    return _named(_MADE)


def tables_in(statements: str) -> frozenset[str]:
    """Return the names of the tables that statements make."""
    return frozenset(name.lower() for name in _MADE.findall(statements))


def _loose_functions(connection: psycopg.Connection) -> Iterator[str]:
    """Return our functions, and those of triggers on our tables, that another role could make act on its behalf."""
    values = {"functions": sorted(_named(_FUNCTION)), "tables": sorted(tables_made())}
    for name, takes_rights, has_path in connection.execute(_SQL["wall_functions"], values).fetchall():
        if takes_rights:
            yield f"the function {name} runs with the rights of its owner: alter it to SECURITY INVOKER"
        if not has_path:
            yield f"the function {name} has no search_path of its own: alter it to SET search_path"


def _named(pattern: re.Pattern[str]) -> frozenset[str]:
    """Return the names that a pattern finds in the schema and the migrations."""
    texts = [schema(), *(migration.text for migration in migrations())]
    return frozenset(name.lower() for text in texts for name in pattern.findall(text))


def _raise_wall(connection: psycopg.Connection, table: _Table) -> None:
    if _OWN not in table.policies and table.own_rows is not None:
        _add_policy(connection, table, _OWN, sql.Identifier(ROLE), sql.SQL(table.own_rows))
    if _ALL not in table.policies:
        # The role is no member of the owner, so this opens nothing to it.
        _add_policy(connection, table, _ALL, sql.SQL("CURRENT_USER"), sql.SQL(_ALL_ROWS))
    for policy in sorted(set(table.policies) - _NEEDED):
        statement = sql.SQL("DROP POLICY {} ON {}")
        connection.execute(statement.format(sql.Identifier(policy), sql.Identifier(table.name)))
    _alter(connection, table.name, "ENABLE")
    _alter(connection, table.name, "FORCE")


def _add_policy(
    connection: psycopg.Connection, table: _Table, policy: str, role: sql.Composable, rows: sql.Composable
) -> None:
    # A restored table may have the policy for the owner of the database that was dumped.
    statement = sql.SQL(
        "DROP POLICY IF EXISTS {policy} ON {table}; CREATE POLICY {policy} ON {table} TO {role} USING ({rows})"
    )
    name = {"policy": sql.Identifier(policy), "table": sql.Identifier(table.name)}
    connection.execute(statement.format(role=role, rows=rows, **name))


def _alter(connection: psycopg.Connection, table: str, change: LiteralString) -> None:
    statement = sql.SQL("ALTER TABLE {} {} ROW LEVEL SECURITY")
    connection.execute(statement.format(sql.Identifier(table), sql.SQL(change)))


def _tables(connection: psycopg.Connection) -> list[_Table]:
    values = {"role": ROLE, "tables": sorted(tables_made())}
    return [_Table(*row) for row in connection.execute(_SQL["wall_tables"], values).fetchall()]


def _prerequisites(connection: psycopg.Connection) -> Iterator[sql.Composable]:
    """Yield the statements that may be an administrator's to run."""
    if not _has(connection, "has_pgvector"):
        yield sql.SQL("CREATE EXTENSION vector")
    # Since PostgreSQL 16 a member may lack the right to take the role on.
    right = "SET" if connection.info.server_version >= 160_000 else "MEMBER"
    for row in connection.execute(_SQL["wall_role"], {"role": ROLE, "right": right}).fetchall():
        yield from _Standing(*row).lacks()


def _has(connection: psycopg.Connection, question: str) -> bool:
    return connection.execute(_SQL[question]).fetchone() == (True,)


def _try(connection: psycopg.Connection, statement: str) -> None:
    """Run a statement for which this user may lack the right. Another process, or database, may be first."""
    try:
        with connection.transaction():
            connection.execute(statement.encode())
    except (
        psycopg.errors.InsufficientPrivilege,
        psycopg.errors.UndefinedFile,
        psycopg.errors.FeatureNotSupported,
        psycopg.errors.DuplicateObject,
        psycopg.errors.UniqueViolation,
    ):
        return
