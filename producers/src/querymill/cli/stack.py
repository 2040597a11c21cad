"""``querymill up | down | doctor``: the embedded stack, and whether the configured services are available."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pydantic
import typer

from querymill.cli.doctor import broken_settings, diagnose, proxy_findings
from querymill.cli.exits import Exit, Unreachable, WrongUse
from querymill.cli.exports import say_exports
from querymill.cli.join import await_own_workers, refuse_namesakes, settings_to_join
from querymill.cli.machine import read_queues, worker_command
from querymill.cli.readiness import await_gateway, await_listeners
from querymill.cli.terminal import Console, echo
from querymill.install_hints import install_hint
from querymill_shared.secret_files import dotenv_settings, instead_of_files, names_set, set_variables
from querymill_shared.settings import Settings
from querymill_shared.urls import mask_text

if TYPE_CHECKING:
    import querymill_embedded as embedded

DataOption = Annotated[
    Path | None, typer.Option("--data", help="folder of the stack's data (default: one of your account)")
]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON")]

#: What the names of the programs that are workers begin with.
_WORKER = "worker-"
#: Settings that name a service of your own; if one of them is set, nothing embedded is started.
OWN_SERVICES = ("REDIS_URL", "DATABASE_URL")
#: Settings that name a model of your own; if one of them is set, the embedded server of such models is not started.
OWN_CHAT_MODEL = ("OPENAI_BASE_URL", "CHAT_MODEL")
OWN_EMBEDDING_MODEL = ("EMBEDDING_BASE_URL", "EMBEDDING_MODEL")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (up, down, doctor):
        app.command()(command)


def up(
    data: DataOption = None,
    detach: Annotated[bool, typer.Option("--detach", help="return once everything runs")] = False,
    port: Annotated[
        int | None, typer.Option(help="port of the HTTP gateway on loopback (default: 8080, or a free one)")
    ] = None,
    join: Annotated[
        str | None,
        typer.Option("--join", metavar="URL", help="start no servers: join the fleet whose board is here (REDIS_URL)"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Start the embedded stack, its workers and the gateway; prints the exports that point commands at it.

    With --join, start workers and a gateway only, which join a fleet. What they need is learned from the fleet's
    workers. Secrets are not: set those as the fleet has them. A password of the board may stand in REDIS_URL alone.
    """
    stack = stack_in(data)
    say = Console(stderr=True)
    port = _port_of_gateway(stack, port)
    try:
        if join is None:
            _bring_up(stack, port, say, as_json=as_json)
        else:
            _join(stack, join, port, say, as_json=as_json)
    except KeyboardInterrupt:
        say.print("Interrupted before everything was ready: stopping…")
        stack.down()
        raise
    if detach:
        where = f" --data {data}" if data else ""
        say.print(f"Look: querymill status{where}, querymill logs{where} · stop: querymill down{where}")
        return
    say.print("Ctrl-C stops it.")
    sys.stdout.flush()
    _wait_for_interrupt()
    say.print("Stopping…")
    stack.down()


def _bring_up(stack: "embedded.Stack", port: int, say: Console, *, as_json: bool) -> None:
    """Start everything, wait until it is ready, and print where it is."""
    with _reported(_library(), say):
        stack.up(parts=parts_to_start(), programs=[*workers({}), _gateway(port)], prepare=_migrate)
    environment = stack.environment()
    # A stack that ran before keeps its gateway and that one's port.
    gateway = next((f"http://{part.address}" for part in stack.status() if part.name == "gateway"), None)
    await_listeners(environment, are_alive=lambda: workers_live(stack))
    if gateway:
        await_gateway(int(gateway.rpartition(":")[2]), serves=lambda: stack.serves("gateway"))
    with _exported(environment):
        for finding in proxy_findings(Settings()):
            if not finding.ok:
                say.print(f"Proxy {finding.value}: {finding.mend}", style="yellow")
    say_exports(stack.data, gateway, environment, say, as_json=as_json)


def _join(stack: "embedded.Stack", url: str, port: int, say: Console, *, as_json: bool) -> None:
    """Start workers and a gateway that join a fleet, wait until they are ready, and say where they are."""
    environment = settings_to_join(url)
    given = beside_the_stack(()) | environment | instead_of_files(environment)
    programs = [*workers(environment, beside=given), _gateway(port, beside=given)]
    names = [program.name for program in programs if program.name.startswith(_WORKER)]
    running = [part.name for part in stack.status()]
    if set(running) - {program.name for program in programs}:
        raise WrongUse(f"--join: a stack with servers runs in {stack.data}: `querymill down`, or give another --data")
    if not running:
        refuse_namesakes(environment["REDIS_URL"], names)
    with _reported(_library(), say, "Starting workers and a gateway…"):
        stack.up(parts=(), programs=programs)
    await_own_workers(environment["REDIS_URL"], names, are_alive=lambda: workers_live(stack))
    gateway = next((f"http://{part.address}" for part in stack.status() if part.name == "gateway"), None)
    if gateway:
        await_gateway(int(gateway.rpartition(":")[2]), serves=lambda: stack.serves("gateway"))
    say_exports(stack.data, gateway, {"REDIS_URL": environment["REDIS_URL"]}, say, as_json=as_json)


def _port_of_gateway(stack: "embedded.Stack", wanted: int | None) -> int:
    """Return the port that the gateway is to serve: the wanted one, else 8080, else a free one.

    Raises:
        WrongUse: The wanted port is taken, and not by the gateway of this stack.
    """
    if wanted is None:
        chosen: int = _library().free_ports(["gateway"], preferred={"gateway": 8080})["gateway"]
        return chosen
    # A stack that runs keeps its gateway, which may have this very port.
    if not stack.status() and not _library().is_free(wanted):
        raise WrongUse(
            f"--port: {wanted} is taken by another process; give a free port, or leave --port out to have one chosen"
        )
    return wanted


def down(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Stop the embedded stack; its data stays."""
    stack = stack_in(data)
    ran = bool(stack.status())
    stack.down()
    said = f"stopped; data kept in {stack.data}" if ran else f"nothing runs in {stack.data}"
    echo(json.dumps({"data": str(stack.data), "running": False}) if as_json else said)


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
    if data is None and names_own_services():
        yield
        return
    library = _library()
    with _reported(library, say):
        stack = _temporary(environment) if data is None else _kept(library.Stack(data), environment)
        with stack as running, _exported(running.environment()):
            await_listeners(running.environment(), are_alive=lambda: workers_live(running))
            yield


def names_own_services() -> bool:
    """Return whether the settings name services of the caller's own."""
    return bool(names_set(OWN_SERVICES))


def _temporary(environment: Mapping[str, str] | None) -> "AbstractContextManager[embedded.Stack]":
    return _library().temporary_stack(parts=parts_to_start(), programs=workers(environment or {}), prepare=_migrate)  # type: ignore[no-any-return]  # imported when asked for


@contextmanager
def _kept(stack: "embedded.Stack", environment: Mapping[str, str] | None) -> "Iterator[embedded.Stack]":
    """A stack whose data stays; a stack that was running before keeps running."""
    ran_before = bool(stack.status())
    stack.up(parts=parts_to_start(), programs=workers(environment or {}), prepare=_migrate)
    try:
        yield stack
    finally:
        if not ran_before:
            stack.down()


def parts_to_start() -> "set[embedded.StackPart]":
    """Return the parts to start: all but the model servers that settings of the caller stand for.

    The exports of an embedded stack that ran before are no settings of the caller's own: they lead to what is gone.
    """
    library = _library()
    instead = {library.StackPart.CHAT: OWN_CHAT_MODEL, library.StackPart.EMBEDDINGS: OWN_EMBEDDING_MODEL}
    settings = set_variables()
    return {part for part in library.ALL if not names_set(instead.get(part, ())) or library.is_embedded(part, settings)}


def beside_the_stack(parts: "Collection[embedded.StackPart] | None" = None) -> dict[str, str]:
    """Return the caller's settings for a program of the stack: what leads to a started part is the stack's to say.

    Without ``parts``, those are started that `parts_to_start` returns.

    The supervisor starts programs in another folder, where they would not find the caller's ``.env``.
    """
    own = _library().settings_of(parts_to_start() if parts is None else parts)
    kept = {name: value for name, value in dotenv_settings().items() if name not in own}
    return kept | instead_of_files(own)


@contextmanager
def _exported(environment: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update({**environment, **instead_of_files(environment)})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _reported(
    library: Any, say: Console, said: str = "Starting Valkey, PostgreSQL, embedding and chat servers, and workers…"
) -> Iterator[None]:
    say.print(said, style="dim")
    try:
        yield
    except library.StackError as error:
        raise Unreachable(str(error)) from error


def workers(environment: Mapping[str, str], *, beside: Mapping[str, str] | None = None) -> "list[embedded.Program]":
    """Say how the workers are started: by name, for this package knows nothing of them.

    ``beside`` are the caller's settings, without those that the stack has to say.
    """
    environment = {**(beside_the_stack() if beside is None else beside), **environment}
    return [
        _worker(f"{_WORKER}search", queues="search,expand,rerank", threads=64, environment=environment),
        # Two calls at a time keep a small embedding server busy; ingestion does not wait behind them.
        _worker(f"{_WORKER}embed", queues="embed", threads=2, environment=environment),
        _worker(f"{_WORKER}ingest", queues="ingest", threads=2, environment=environment),
        # Rebuilding ranks keeps a processor busy: apart from the searches, whose threads would wait for it.
        _worker(f"{_WORKER}ranks", queues="ranks", threads=1, environment=environment),
    ]


def _worker(name: str, *, queues: str, threads: int, environment: Mapping[str, str]) -> "embedded.Program":
    program: embedded.Program = _library().Program(
        name=name,
        command=(sys.executable, *worker_command(read_queues(queues), threads=threads, name=name)),
        environment=environment,
        stop_signal="TERM",
        stop_wait_s=15,
        # A worker that refuses to start says so within this, and is then reported with its log.
        settle_s=4,
    )
    return program


def workers_live(stack: "embedded.Stack") -> bool:
    """Return whether every worker of a stack has run since it was started."""
    found = [part for part in stack.status() if part.name.startswith(_WORKER)]
    return bool(found) and all(part.state in ("starting", "running") and not part.restarts for part in found)


def _gateway(port: int, *, beside: Mapping[str, str] | None = None) -> "embedded.Program":
    program: embedded.Program = _library().Program(
        name="gateway",
        command=(sys.executable, "-P", "-m", "querymill.gateway", "--port", str(port)),
        environment={**_documents_at_home(), **(beside_the_stack() if beside is None else beside)},
        settle_s=3,
        port=port,
    )
    return program


def _documents_at_home() -> dict[str, str]:
    """Return the setting by which the console of your own machine shows the pages of your PDF files."""
    home = Path("~").expanduser()
    return {"QUERYMILL_DOCUMENT_FOLDERS": json.dumps([str(home)])} if home.is_absolute() and home.parts[1:] else {}


def _migrate(environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "querymill_workers.migrate"],
        env={**os.environ, **environment, **instead_of_files(environment)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        # Masked before it is cut: the rest of a URL is not recognised as a URL.
        raise Unreachable(f"the database could not be prepared: {mask_text(done.stderr.strip())[-500:]}")


def _library() -> Any:
    try:
        import querymill_embedded
    except ImportError as error:
        raise WrongUse(
            f"the embedded stack is not installed; {install_hint('embedded')}, "
            "or name your services by REDIS_URL and DATABASE_URL"
        ) from error
    return querymill_embedded


def stack_in(data: Path | None) -> "embedded.Stack":
    """Return the embedded stack of a folder, or of the default one.

    Raises:
        WrongUse: It is not installed.
    """
    library = _library()
    return library.Stack(data)  # type: ignore[no-any-return]  # imported when asked for


def _wait_for_interrupt() -> None:
    stopped = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stopped.set())
    stopped.wait()
