"""``querymill backup | restore``: all that is stored, and the jobs, in one folder."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from querymill.cli.exits import Unreachable
from querymill.cli.machine import workers_command
from querymill.cli.stack import stack_in

DataOption = Annotated[
    Path | None,
    typer.Option("--data", help="the servers of the embedded stack of this folder, instead of the settings"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(backup)
    app.command()(restore)


def backup(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="a folder that does not exist yet")],
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write what PostgreSQL, MongoDB and the board hold into a folder, while the fleet goes on.

    An interrupted backup leaves no folder of this name. Keep the folder as safe as the servers: it holds all documents.
    """
    _run(data, "back-up", str(folder), *(["--json"] if as_json else []))


def restore(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="a folder of `querymill backup`, or an archive of pg_dump")
    ],
    replace: Annotated[bool, typer.Option("--replace", help="delete what the servers hold")] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Restore a backup into the servers that the settings name. Stop the workers and the gateway first.

    A backup that is not whole is refused, and so are servers that hold something, before anything is changed. With
    --data, run `querymill down` first: the servers of the stack are started for it, without workers.
    """
    _run(data, "restore", str(source), *(["--replace"] if replace else []), *(["--json"] if as_json else []))


def _run(data: Path | None, *arguments: str) -> None:
    """Run the workers' part. It looks for pg_dump in PATH, at whose end stands the one of the embedded stack."""
    command = workers_command("-P", "-m", "querymill_workers.backup", *arguments)
    variables = dict(os.environ)
    if importlib.util.find_spec("querymill_embedded") is not None:
        from querymill_embedded import postgres_programs

        variables["PATH"] = os.pathsep.join(filter(None, [variables.get("PATH"), str(postgres_programs())]))
    if data is None:
        sys.stdout.flush()
        os.execve(command[0], command, variables)  # noqa: S606 - a list, no shell
    with _servers_of(data) as environment:
        code = subprocess.run(command, env=variables | environment, check=False).returncode
    raise typer.Exit(code)


@contextmanager
def _servers_of(data: Path) -> Iterator[dict[str, str]]:
    """Yield the settings that lead to the servers of a stack. One that does not run is started without workers."""
    from querymill_embedded import StackError, StackPart

    stack = stack_in(data)
    ran_before = bool(stack.status())
    try:
        if not ran_before:
            stack.up(parts={StackPart.VALKEY, StackPart.POSTGRES})
        yield stack.environment() | {"MONGODB_URI": "", "REDIS_URL_FILE": "", "DATABASE_URL_FILE": ""}
    except StackError as error:
        raise Unreachable(str(error)) from error
    finally:
        if not ran_before:
            stack.down()
