"""supervisord: its configuration, its start, its XML-RPC interface and its log."""

import http.client
import math
import os
import pwd
import re
import shlex
import subprocess
import sys
import xmlrpc.client
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from querymill_embedded.errors import StackError
from querymill_embedded.parts import LOOPBACK, Program
from querymill_embedded.processes import STACK_VARIABLE
from querymill_embedded.state import Control, write_private

CONFIGURATION_FILE = "supervisord.conf"
LOG_FOLDER = "logs"
LOG_FILE = "supervisord.log"
PID_FILE = "supervisord.pid"

#: Failed starts after which the supervisor gives up on a process. Each waits a second longer than the one before.
_START_RETRIES = 10
_RPC_TIMEOUT_S = 10.0
_ALREADY_STARTED = 60


class StopGroup(StrEnum):
    """Processes that stop together. Later groups stop first."""

    SERVERS = "servers"
    PROGRAMS = "programs"
    LEASH = "leash"


class ProcessState(StrEnum):
    """The state of a process as the supervisor reports it, or `dead` if the supervisor itself has died."""

    STOPPED = "stopped"
    STARTING = "starting"
    RUNNING = "running"
    BACKOFF = "backoff"
    STOPPING = "stopping"
    EXITED = "exited"
    FATAL = "fatal"
    UNKNOWN = "unknown"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Supervised:
    """A program as the supervisor runs it.

    Attributes:
        folder: its working directory.
        user: the system user that it runs as; None for the supervisor's own.
        autostart: whether it starts with the supervisor, or only when `SupervisorClient.start` is called.
    """

    program: Program
    folder: Path
    group: StopGroup
    user: str | None = None
    autostart: bool = True


@dataclass(frozen=True, slots=True)
class ProcessReport:
    """The supervisor's report on one process.

    ``started`` is in seconds since the epoch, ``pid`` is None if it does not run, ``said`` is the supervisor's message.
    """

    name: str
    group: str
    state: ProcessState
    pid: int | None
    started: int
    said: str


def log_path(data: Path, name: str) -> Path:
    """Return the log file of a part or program."""
    return data / LOG_FOLDER / f"{name}.log"


def configuration(data: Path, control: Control, supervised: list[Supervised]) -> str:
    """Return the text of supervisord's configuration file, without the environments of programs.

    Paths are relative to the data folder, where supervisord starts, because the syntax cannot express every path.

    Raises:
        StackError: a command contains a line break, which the syntax cannot express.
    """
    supervisor = {
        "logfile": f"{LOG_FOLDER}/{LOG_FILE}",
        "logfile_maxbytes": "5MB",
        "logfile_backups": "2",
        "pidfile": PID_FILE,
        "childlogdir": LOG_FOLDER,
        "nocleanup": "true",
        "umask": "077",
    }
    if os.geteuid() == 0:
        supervisor["user"] = pwd.getpwuid(0).pw_name
    web = {"port": f"{LOOPBACK}:{control.port}", "username": control.user, "password": control.password}
    rpc = {"supervisor.rpcinterface_factory": "supervisor.rpcinterface:make_main_rpcinterface"}
    sections = [
        _section("supervisord", supervisor),
        _section("inet_http_server", web),
        _section("rpcinterface:supervisor", rpc),
        *(_program_section(data, process) for process in supervised),
        *_group_sections(supervised),
    ]
    return "\n".join(sections)


def start_supervisor(data: Path, text: str) -> None:
    """Start supervisord as a daemon. When this returns, it listens.

    Raises:
        StackError: it did not start; the message holds its output.
    """
    write_private(data / CONFIGURATION_FILE, text)
    finished = subprocess.run(
        [sys.executable, "-P", "-m", "supervisor.supervisord", "--configuration", str(data / CONFIGURATION_FILE)],
        env={**os.environ, STACK_VARIABLE: str(data), "PYTHONUNBUFFERED": "1"},
        cwd=data,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode != 0:
        raise StackError(f"supervisord did not start:\n{finished.stdout}{finished.stderr}")


class SupervisorClient:
    """A client of a running supervisord. Every method raises StackError if it does not respond."""

    def __init__(self, control: Control) -> None:
        address = f"http://{control.user}:{control.password}@{LOOPBACK}:{control.port}/RPC2"
        self._server = xmlrpc.client.ServerProxy(address, transport=_TimeLimitedTransport())

    def pid(self) -> int:
        """Return the supervisor's own pid."""
        return cast("int", self._call("getPID"))

    def processes(self) -> dict[str, ProcessReport]:
        """Return the reports on all processes, by name."""
        reports = (_report(entry) for entry in cast("list[dict[str, Any]]", self._call("getAllProcessInfo")))
        return {report.name: report for report in reports}

    def start(self, group: str, name: str) -> None:
        """Start a process, without waiting for it. If it already runs, do nothing."""
        try:
            wait = False
            self._call("startProcess", f"{group}:{name}", wait)
        except xmlrpc.client.Fault as fault:
            if fault.faultCode != _ALREADY_STARTED:
                raise StackError(f"{name} cannot be started: {fault.faultString}") from fault

    def _call(self, method: str, *arguments: object) -> object:
        try:
            return getattr(self._server.supervisor, method)(*arguments)
        except xmlrpc.client.ProtocolError as error:
            # Its own text quotes the address with the password.
            reason = f"HTTP {error.errcode} {error.errmsg}"
            raise StackError(f"the stack's supervisor does not respond: {reason}") from None
        except (OSError, http.client.HTTPException) as error:
            raise StackError(f"the stack's supervisor does not respond: {error}") from error
        finally:
            # Calls are rare, so an idle connection would only wait for the garbage collector.
            self._server("close")()


def restarts(log: Path, supervisor_pid: int, name: str) -> int:
    """Return how often this supervisor has restarted a process, according to the supervisor's log."""
    text = "".join(_read(file) for file in (log.with_name(f"{log.name}.2"), log.with_name(f"{log.name}.1"), log))
    _, _, since = text.rpartition(f"supervisord started with pid {supervisor_pid}\n")
    spawned = re.findall(rf"INFO spawned: '{re.escape(name)}' with pid ", since)
    return max(0, len(spawned) - 1)


class _TimeLimitedTransport(xmlrpc.client.Transport):
    """An XML-RPC transport with a time limit, in case the supervisor hangs."""

    def make_connection(self, host: Any) -> http.client.HTTPConnection:
        connection = super().make_connection(host)
        connection.timeout = _RPC_TIMEOUT_S
        return connection


def _report(entry: dict[str, Any]) -> ProcessReport:
    return ProcessReport(
        name=entry["name"],
        group=entry["group"],
        state=ProcessState(entry["statename"].lower()),
        pid=entry["pid"] or None,
        started=entry["start"],
        said=entry["spawnerr"] or entry["description"],
    )


def _program_section(data: Path, process: Supervised) -> str:
    program = process.program
    options = {
        "command": command_value(program.command),
        "directory": str(process.folder.relative_to(data)),
        "autostart": str(process.autostart).lower(),
        "autorestart": "true",
        "startsecs": str(math.ceil(program.settle_s)),
        "startretries": str(_START_RETRIES),
        "stopsignal": program.stop_signal,
        "stopwaitsecs": str(math.ceil(program.stop_wait_s)),
        "killasgroup": "true",
        "redirect_stderr": "true",
        "stdout_logfile": str(log_path(data, program.name).relative_to(data)),
        "stdout_logfile_maxbytes": "5MB",
        "stdout_logfile_backups": "2",
    }
    if process.user is not None:
        options["user"] = process.user
    return _section(f"program:{program.name}", options)


def _group_sections(supervised: list[Supervised]) -> list[str]:
    # The supervisor stops the group with the highest priority number first, and all members of a group together.
    order = list(StopGroup)
    in_groups = groupby(
        sorted(supervised, key=lambda process: order.index(process.group)), lambda process: process.group
    )
    return [
        _section(
            f"group:{group}",
            {
                "programs": ",".join(process.program.name for process in members),
                "priority": str(order.index(group) + 1),
            },
        )
        for group, members in in_groups
    ]


def command_value(command: tuple[str, ...]) -> str:
    """Return a command in the syntax of supervisord's configuration, which reads it back word for word.

    Raises:
        StackError: it contains a line break.
    """
    # A blank before ; or # starts a comment, even in quotes. So the quotes are closed and reopened between the two.
    quoted = re.sub(r"(\s)([;#])", r"\1''\2", shlex.join(command))
    if re.search(r"[\r\n]", quoted):
        raise StackError(f"supervisord's configuration cannot hold the command {quoted}: it contains a line break")
    return quoted.replace("%", "%%")


def _section(name: str, options: dict[str, str]) -> str:
    lines = [f"{option} = {value}" for option, value in options.items()]
    return "\n".join([f"[{name}]", *lines, ""])


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
