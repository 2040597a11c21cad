"""``querymill backup | restore``: all that is stored, and the jobs, in one folder."""

import importlib.util
import os
from pathlib import Path
from typing import Annotated

import typer

from querymill.cli.machine import replace_by

JsonOption = Annotated[bool, typer.Option("--json", help="print JSON")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(backup)
    app.command()(restore)


def backup(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="a folder that does not exist yet")],
    as_json: JsonOption = False,
) -> None:
    """Write what PostgreSQL, MongoDB and the board hold into a folder, while the fleet goes on.

    An interrupted backup leaves no folder of this name. Keep the folder as safe as the servers: it holds all documents.
    """
    _run("back-up", str(folder), *(["--json"] if as_json else []))


def restore(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="a folder of `querymill backup`, or an archive of pg_dump")
    ],
    replace: Annotated[bool, typer.Option("--replace", help="delete what the servers hold")] = False,
    as_json: JsonOption = False,
) -> None:
    """Restore a backup into the servers that the settings name. Stop the workers and the gateway first.

    A backup that is not whole is refused, and so are servers that hold something, before anything is changed.
    """
    _run("restore", str(source), *(["--replace"] if replace else []), *(["--json"] if as_json else []))


def _run(*arguments: str) -> None:
    """Run the workers' part. It looks for pg_dump in PATH, at whose end stands the one of the embedded stack."""
    if importlib.util.find_spec("querymill_embedded") is not None:
        from querymill_embedded import postgres_programs

        os.environ["PATH"] = os.pathsep.join(filter(None, [os.environ.get("PATH"), str(postgres_programs())]))
    replace_by("-P", "-m", "querymill_workers.backup", *arguments)
