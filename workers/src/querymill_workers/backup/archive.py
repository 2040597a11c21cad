"""Archives of `pg_dump`: makes one of a snapshot, and checks that a foreign dump is complete."""

import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from querymill_shared.values import value
from querymill_workers.backup.errors import BackupError
from querymill_workers.backup.programs import Programs, failure
from querymill_workers.postgres import row_security
from querymill_workers.postgres.schema import migrations

_ENTRY: Final = re.compile(
    r"^\d+; \d+ \d+ (?P<kind>TABLE DATA|TABLE|POLICY|ROW SECURITY|EXTENSION) (?P<rest>.+)$", re.M
)
_SERVER: Final = re.compile(r"^; +Dumped from database version: (\d+)", re.M)
_COPY: Final = re.compile(rb"^COPY (.+?) \(.*\) FROM stdin;$")
_INSERT: Final = re.compile(rb"^INSERT INTO (\S+) ")
_END: Final = b"\\.\n"
#: The part of a policy by which the owner of the tables sees the rows of all collections.
_SEES_ALL: Final = "'querymill.across'"
_POLICY: Final = re.compile(r"CREATE POLICY all_collections ON (?:\S+\.)?(\w+) (.*?);\n", re.S)
#: Policies that name the owner of the database that was dumped. `migrate` makes them again, for the owner of this one.
_OWNERS_POLICY: Final = re.compile(r"^\d+; .* POLICY \S+ \S+ all_collections .*\n", re.M)
_EXTENSION: Final = re.compile(r"^\d+; .* EXTENSION - vector .*\n", re.M)
_MIGRATIONS: Final = "schema_migrations"
_REMEDY: Final = "make it by the command of deploy/docs/backup.md, or restore what `querymill backup` made"


@value
class Archive:
    """An archive that `pg_restore` can read."""

    path: Path
    programs: Programs
    listed: str

    @classmethod
    def open(cls, path: Path, programs: Programs) -> "Archive":
        """Open an archive.

        Raises:
            BackupError: It is none.
        """
        try:
            return cls(path, programs, programs.run("pg_restore", "--list", str(path)).stdout)
        except BackupError as error:
            raise BackupError(f"{path}: {error}") from error

    @property
    def server(self) -> int:
        """The major version of the server that was dumped."""
        found = _SERVER.search(self.listed)
        return int(found[1]) if found else 0

    def rows(self) -> Mapping[str, int]:
        """Read all of it, and return the number of rows of each table, by its quoted name with its schema.

        Raises:
            BackupError: It cannot be read to its end.
        """
        counted: dict[str, int] = {}
        for table, _ in self._each_row():
            counted[table] = counted.get(table, 0) + 1
        return counted

    def check_whole(self) -> Mapping[str, int]:
        """Return the rows of an archive whose making nobody counted.

        Raises:
            BackupError: It lacks a table, or row-level security hid rows when it was made.
        """
        policies = self.programs.run("pg_restore", "--section=post-data", "--file=-", str(self.path)).stdout
        seen = {table for table, predicate in _POLICY.findall(policies) if _SEES_ALL in predicate}
        if unseen := sorted(self._named("ROW SECURITY") & row_security.tables_made() - seen):
            raise BackupError(
                f"{self.path}: is not whole: row-level security hid the rows of {', '.join(unseen)} when it was made;"
                " run `querymill migrate` on that database, which mends its walls, and dump it again"
            )
        if lacking := sorted(self._wanted() - self._named("TABLE DATA")):
            raise BackupError(
                f"{self.path}: is not whole: it has no rows of the tables {', '.join(lacking)}; {_REMEDY}"
            )
        rows = self.rows()
        if not any(rows.get(f"{schema}.{table}") for schema, table in self._places() if table in self._walled()):
            raise BackupError(
                f"{self.path}: is not whole: row-level security hid every row when it was made, or the database"
                f" was empty; {_REMEDY}"
            )
        return rows

    def use_list(self) -> str:
        """Return the list of what is restored: all but what `migrate` makes, and pgvector, which is there before."""
        return _EXTENSION.sub("", _OWNERS_POLICY.sub("", self.listed))

    def _wanted(self) -> frozenset[str]:
        """Return the tables that it must have: those of this release but for migrations that it lacks."""
        done = {word for _, row in self._each_row(_MIGRATIONS) for word in _words(row)}
        newer = [migration for migration in migrations() if migration.name not in done]
        made_later = frozenset().union(*(row_security.tables_in(migration.text) for migration in newer))
        return row_security.tables_made() - made_later | {_MIGRATIONS}

    def _walled(self) -> frozenset[str]:
        return row_security.tables_made() - row_security.OPEN.keys()

    def _named(self, kind: str) -> frozenset[str]:
        return frozenset(table for schema, table in self._places(kind))

    def _places(self, kind: str = "TABLE DATA") -> Iterator[tuple[str, str]]:
        for entry in _ENTRY.finditer(self.listed):
            if entry["kind"] == kind:
                schema, table, *_ = entry["rest"].split(" ")
                yield schema, table

    def _each_row(self, table: str | None = None) -> Iterator[tuple[str, bytes]]:
        """Yield each row of its tables, or of one: the table's name, and the row as it is written."""
        chosen = [] if table is None else [f"--table={table}"]
        command = [str(self.programs.folder / "pg_restore"), "--data-only", "--file=-", *chosen, str(self.path)]
        with (
            tempfile.TemporaryFile() as said,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said) as reading,
        ):
            copied: str | None = None
            for line in reading.stdout or ():
                if copied is not None:
                    if line == _END:
                        copied = None
                    else:
                        yield copied, line
                elif begun := _COPY.match(line):
                    copied = begun[1].decode()
                elif inserted := _INSERT.match(line):
                    yield inserted[1].decode(), line
            if reading.wait() != 0:
                said.seek(0)
                reason = failure("pg_restore", said.read().decode(errors="replace"))
                raise BackupError(f"{self.path}: is not whole: {reason}")


def _words(row: bytes) -> list[str]:
    """Return what may be the name of a migration in a row."""
    return re.findall(r"[\w.]+", row.decode(errors="replace"))


def dump(programs: Programs, snapshot: str, file: Path, environment: Mapping[str, str]) -> Archive:
    """Dump a database as a snapshot sees it.

    Raises:
        BackupError: It failed.
    """
    programs.run(
        "pg_dump", "--format=custom", "--enable-row-security", f"--snapshot={snapshot}", f"--file={file}",
        environment=environment,
    )  # fmt: skip
    return Archive.open(file, programs)
