"""``querymill up | down | status | doctor``: the embedded stack, and whether the configured services are available."""

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pydantic
import typer
from rich.table import Table
from rich.text import Text

from querymill.cli.exits import Exit, Unreachable, WrongUse
from querymill.cli.terminal import Console, echo
from querymill.doctor import broken_settings, diagnose
from querymill.fleet import figures, tables
from querymill_shared.addresses import mask_text

if TYPE_CHECKING:
    import querymill_embedded as embedded

DataOption = Annotated[Path | None, typer.Option("--data", help="the folder that holds everything")]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON")]

#: Settings that name a service of your own; if one of them is set, nothing embedded is started.
OWN_SERVICES = ("REDIS_URL", "DATABASE_URL")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (up, down, status, doctor):
        app.command()(command)


def up(
    data: DataOption = None,
    detach: Annotated[bool, typer.Option("--detach", help="return once everything runs")] = False,
    port: Annotated[
        int | None, typer.Option(help="of the HTTP gateway on loopback  [default: 8080, or a free one]")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Start the embedded stack, its workers and the gateway; prints the exports that point commands at it."""
    stack = _stack(data)
    say = Console(stderr=True)
    if port is None:
        port = _library().free_ports(["gateway"], preferred={"gateway": 8080})["gateway"]
    with _reported(_library(), say):
        stack.up(programs=[*workers({}), _gateway(port)], prepare=_migrate)
    environment = stack.environment()
    gateway = next((f"http://{part.address}" for part in stack.status() if part.name == "gateway"), None)
    if as_json:
        echo(json.dumps({"data": str(stack.data), "gateway": gateway, "environment": environment}))
    else:
        say.print(f"Gateway: {gateway} · OpenAPI at /docs · figures at /metrics")
        say.print("Running. These exports point querymill at it:", style="bold")
        for name, value in environment.items():
            echo(f"export {name}={shlex.quote(value)}")
    if detach:
        where = f" --data {data}" if data else ""
        say.print(f"Look: querymill status{where} · stop: querymill down{where}")
        return
    say.print("Ctrl-C stops it.")
    sys.stdout.flush()
    _wait_for_interrupt()
    say.print("Stopping…")
    stack.down()


def down(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Stop the embedded stack; its data stays."""
    stack = _stack(data)
    stack.down()
    echo(json.dumps({"data": str(stack.data), "running": False}) if as_json else f"stopped; data kept in {stack.data}")


def status(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Show every part of the stack (state, address, log file) and how the fleet fares with its model providers."""
    stack = _stack(data)
    parts = stack.status()
    fleet = figures(stack.environment()["REDIS_URL"]) if parts else None
    if as_json:
        rows = [
            {"name": p.name, "state": p.state, "pid": p.pid, "address": p.address, "log": str(p.log),
             "uptime_s": p.uptime_s, "restarts": p.restarts}
            for p in parts
        ]  # fmt: skip
        echo(json.dumps({"data": str(stack.data), "parts": rows, "fleet": fleet}))
    else:
        console = Console(width=200 if not sys.stdout.isatty() else None)
        console.print(table_of(parts) if parts else f"nothing runs in {stack.data}")
        for part_of_fleet in tables(fleet) if fleet else ():
            console.print(part_of_fleet)
    if not parts or any(part.state != "running" for part in parts):
        raise typer.Exit(Exit.UNREACHABLE)


def table_of(parts: "Iterable[embedded.PartStatus]") -> Table:
    """Lay the parts of a stack out, a row each."""
    table = Table("part", "state", "pid", "address", "restarts", "log", box=None)
    for part in parts:
        state = Text(part.state, "green" if part.state == "running" else "red")
        pid = "" if part.pid is None else str(part.pid)
        table.add_row(part.name, state, pid, part.address, str(part.restarts), str(part.log))
    return table


def doctor(as_json: JsonOption = False) -> None:
    """Print the effective settings and whether each service answers, with a fix for each that does not."""
    try:
        findings, failed = diagnose(), Exit.UNREACHABLE
    except pydantic.ValidationError as error:
        findings, failed = broken_settings(error), Exit.WRONG_USE
    if as_json:
        echo(json.dumps([asdict(finding) for finding in findings]))
    else:
        for finding in findings:
            mark = {True: "ok  ", False: "FAIL", None: "    "}[finding.ok]
            echo(f"{mark} {finding.name:<34} {finding.value}" + (f"\n     → {finding.mend}" if finding.mend else ""))
    if any(finding.ok is False for finding in findings):
        raise typer.Exit(failed)


@contextmanager
def services(data: Path | None, say: Console, *, environment: Mapping[str, str] | None = None) -> Iterator[None]:
    """Make sure there are services: those that the settings name, or an embedded stack of our own.

    The stack lives in ``data``, which is kept, or in a temporary folder, which is not.
    """
    if data is None and any(name in os.environ for name in OWN_SERVICES):
        yield
        return
    library = _library()
    with _reported(library, say):
        stack = _temporary(environment) if data is None else _kept(library.Stack(data), environment)
        with stack as running, _exported(running.environment()):
            yield


def _temporary(environment: Mapping[str, str] | None) -> "AbstractContextManager[embedded.Stack]":
    return _library().temporary_stack(programs=workers(environment or {}), prepare=_migrate)  # type: ignore[no-any-return]  # imported when asked for


@contextmanager
def _kept(stack: "embedded.Stack", environment: Mapping[str, str] | None) -> "Iterator[embedded.Stack]":
    """A stack whose data stays; a stack that was running before keeps running."""
    ran_before = bool(stack.status())
    stack.up(programs=workers(environment or {}), prepare=_migrate)
    try:
        yield stack
    finally:
        if not ran_before:
            stack.down()


@contextmanager
def _exported(environment: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _reported(library: Any, say: Console) -> Iterator[None]:
    say.print("Starting Valkey, PostgreSQL, MongoDB wire, embedding and chat servers, and workers…", style="dim")
    try:
        yield
    except library.StackError as error:
        raise Unreachable(str(error)) from error


def workers(environment: Mapping[str, str]) -> "list[embedded.Program]":
    """Say how the workers are started: by name, for this package knows nothing of them."""
    return [
        _worker("worker-search", queues="search,expand,rerank", threads=64, environment=environment),
        # Two calls at a time keep a small embedding server busy; ingestion does not wait behind them.
        _worker("worker-embed", queues="embed", threads=2, environment=environment),
        _worker("worker-ingest", queues="ingest", threads=2, environment=environment),
        # Rebuilding ranks keeps a processor busy: apart from the searches, whose threads would wait for it.
        _worker("worker-ranks", queues="ranks", threads=1, environment=environment),
    ]


def _worker(name: str, *, queues: str, threads: int, environment: Mapping[str, str]) -> "embedded.Program":
    celery = [sys.executable, "-m", "celery", "-A", "querymill_workers.app", "worker"]
    options = ["-Q", queues, "-P", "threads", "-c", str(threads), "-n", f"{name}@%h", "-l", "WARNING"]
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    program: embedded.Program = _library().Program(
        name=name,
        command=(*celery, *options, *quiet),
        environment=dict(environment),
        stop_signal="TERM",
        stop_wait_s=15,
        # A worker that refuses to start says so within this, and is then reported with its log.
        settle_s=4,
    )
    return program


def _gateway(port: int) -> "embedded.Program":
    program: embedded.Program = _library().Program(
        name="gateway",
        command=(sys.executable, "-m", "querymill.gateway", "--port", str(port)),
        settle_s=3,
        port=port,
    )
    return program


def _migrate(environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "querymill_workers.migrate"],
        env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        # Masked before it is cut: the rest of a URL is not recognised as a URL.
        raise Unreachable(f"the database could not be prepared: {mask_text(done.stderr.strip())[-500:]}")


def _library() -> Any:
    try:
        import querymill_embedded
    except ImportError as error:
        raise WrongUse(
            "the embedded stack is not installed: pip install 'querymill[embedded]', "
            "or name your services by REDIS_URL and DATABASE_URL"
        ) from error
    return querymill_embedded


def _stack(data: Path | None) -> "embedded.Stack":
    library = _library()
    return library.Stack(data)  # type: ignore[no-any-return]  # imported when asked for


def _wait_for_interrupt() -> None:
    stopped = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stopped.set())
    stopped.wait()
