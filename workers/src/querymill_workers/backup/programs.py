"""The programs `pg_dump` and `pg_restore`: which ones fit a server, and how they are run without secrets in sight."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import psycopg
from psycopg import conninfo, pq

from querymill_shared.values import value
from querymill_workers.backup.errors import BackupError

#: Where Debian and its kin install each version.
_DEBIAN: Final = Path("/usr/lib/postgresql")
_VERSION: Final = re.compile(r"\(PostgreSQL\) (\d+)")
#: Lets the owner of the tables see the rows of all collections.
_ACROSS: Final = "-c querymill.across=on"
#: What these programs say, and what to do about it.
_REMEDIES: Final[Mapping[str, str]] = {
    "row-level security": "connect as the owner of the tables or as a superuser,"
    " and past PgBouncer, which drops the option",
    "unsupported startup parameter": "let DATABASE_URL lead past PgBouncer for this command",
    "unsupported version": "use a pg_restore at least as new as the pg_dump that wrote it",
    "could not read from input file": "it is cut off: restore another backup",
    "text format dump": "make it with --format=custom, as deploy/docs/backup.md says",
    "does not appear to be a valid": "make it with --format=custom, as deploy/docs/backup.md says",
    "No space left": "make room, and try again; a restoration also with --replace",
}


@value
class Programs:
    """A folder with the client programs of PostgreSQL, and their version."""

    folder: Path
    major: int

    def run(
        self, name: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run a program to its end.

        Raises:
            BackupError: It failed.
        """
        done = subprocess.run(
            [str(self.folder / name), *arguments], env=os.environ | (environment or {}), capture_output=True, text=True,
            stdin=subprocess.DEVNULL, errors="replace", check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise BackupError(failure(name, done.stderr))
        return done


def failure(name: str, said: str) -> str:
    """Return what a program said when it failed, and what to do about it."""
    lines = [line.removeprefix(f"{name}: ") for line in said.strip().splitlines() if line.strip()]
    remedies = [remedy for sign, remedy in _REMEDIES.items() if sign in said]
    return f"{name}: {' '.join(lines[:3]) or 'failed'}" + (f"; {remedies[0]}" if remedies else "")


def programs_for(server: int, *, searched: str | None = None) -> Programs:
    """Return the oldest programs that are at least as new as a server of this major version.

    Looks in the folders of PATH, and where Debian installs them.

    Raises:
        BackupError: There are none.
    """
    found = list(_found(os.environ.get("PATH", "") if searched is None else searched))
    fitting = [programs for programs in found if programs.major >= server]
    if fitting:
        return min(fitting, key=lambda programs: programs.major)
    others = ", ".join(sorted({str(programs.major) for programs in found})) or "none"
    raise BackupError(
        f"pg_dump: version {server} or newer is needed for this server, and PATH has {others};"
        f" install postgresql-client-{server}, or querymill[embedded], which brings version 18"
    )


def _found(searched: str) -> Iterator[Programs]:
    folders = [Path(folder) for folder in searched.split(os.pathsep) if folder]
    for folder in dict.fromkeys([*folders, *sorted(_DEBIAN.glob("*/bin"))]):
        if all(os.access(folder / name, os.X_OK) for name in ("pg_dump", "pg_restore")):
            said = subprocess.run([str(folder / "pg_dump"), "--version"], capture_output=True, text=True, check=False)
            version = _VERSION.search(said.stdout)
            if version is not None:
                yield Programs(folder, int(version[1]))


def environment_of(url: str) -> dict[str, str]:
    """Return an address as variables for PostgreSQL's programs: everybody on the machine can read a command line.

    Raises:
        BackupError: A parameter cannot be handed over.
    """
    try:
        given = conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise BackupError("DATABASE_URL: is not an address of PostgreSQL; see `querymill doctor`") from error
    variables = {option.keyword.decode(): option.envvar for option in pq.Conninfo.get_defaults()}
    found = {}
    for name, written in given.items():
        variable = variables.get(name)
        if written is not None and variable is not None:
            found[variable.decode()] = str(written)
        elif name == "sslpassword":
            raise BackupError(f"DATABASE_URL: {name}: cannot be handed to pg_dump unseen; use a key without a password")
    options = found.get("PGOPTIONS", os.environ.get("PGOPTIONS", ""))
    return found | {"PGOPTIONS": f"{options} {_ACROSS}".strip()}
