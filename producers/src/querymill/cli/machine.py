"""``querymill worker | migrate``: what a machine of one's own runs, beside the gateway."""

import importlib.util
import os
import sys
from typing import Annotated, NoReturn

import typer

from querymill.cli.exits import WrongUse
from querymill.install_hints import WORKERS, install_hint
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings

#: All queues, as an option.
ALL = "all"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(worker)
    app.command()(migrate)


def worker(
    queues: Annotated[str, typer.Option(help=f"what it works on, with commas: {', '.join(Queue)}; or all")] = ALL,
    threads: Annotated[int, typer.Option(min=1, help="steps it runs at a time")] = 16,
    name: Annotated[
        str | None,
        typer.Option(help="one per process; a worker that comes back under its name takes its steps up at once"),
    ] = None,
) -> None:
    """Run a worker until stopped. SIGTERM lets it finish what it has begun."""
    _replace_by(*worker_command(read_queues(queues), threads=threads, name=name or f"worker-{os.getpid()}"))


def migrate(
    check: Annotated[bool, typer.Option("--check", help="change nothing; say what is missing")] = False,
) -> None:
    """Bring the database of DATABASE_URL to the newest schema. Run it before workers of a new release start."""
    _replace_by("-P", "-m", "querymill_workers.migrate", *(["--check"] if check else []))


def worker_command(queues: list[Queue], *, threads: int, name: str) -> list[str]:
    """Return the arguments of Python that start a worker process. Nothing is imported from the working folder."""
    return [
        "-P", "-m", "querymill_workers", "worker",
        "-Q", ",".join(queues), "-P", "threads", "-c", str(threads), "-n", f"{name}@%h", "-l", "WARNING",
    ]  # fmt: skip


def read_queues(written: str) -> list[Queue]:
    """Return the queues that an option names.

    Raises:
        WrongUse: one of them does not exist.
    """
    names = [word.strip() for word in written.split(",") if word.strip()]
    if names == [ALL]:
        return list(Queue)
    if wrong := [word for word in names if word not in tuple(Queue)]:
        raise WrongUse(f"--queues: {', '.join(wrong)}: no such queue; there are {', '.join(Queue)}, and all")
    if not names:
        raise WrongUse(f"--queues: names no queue; there are {', '.join(Queue)}, and all")
    return [Queue(word) for word in dict.fromkeys(names)]


def workers_command(*arguments: str) -> list[str]:
    """Return the command that runs a part of the workers.

    Raises:
        WrongUse: They are not installed.
    """
    if importlib.util.find_spec("querymill_workers") is None:
        raise WrongUse(f"the workers are not installed; {install_hint(WORKERS)}")
    Settings()  # a setting that breaks a rule is named here, in one line
    return [sys.executable, *arguments]


def _replace_by(*arguments: str) -> NoReturn:
    """Replace this process by another program, under the same process id, so that signals reach it."""
    command = workers_command(*arguments)
    sys.stdout.flush()
    os.execv(command[0], command)  # noqa: S606 - a list, no shell
