"""All dealings with supervisord: its configuration, starting it, speaking XML-RPC to it, reading its log."""

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

#: Tries of a crashed process before it is given up, each a second later than the one before.
_START_RETRIES = 10
_RPC_TIMEOUT_S = 10.0
_ALREADY_STARTED = 60


class Group(StrEnum):
    """Processes that are stopped together; later groups stop first."""

    SERVERS = "servers"
    PROGRAMS = "programs"
    LEASH = "leash"


class ProcessState(StrEnum):
    """What the supervisor says of a process; `dead` when the supervisor itself is gone."""

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
        folder: its working folder.
        user: the system user to become; None for the supervisor's own.
        autostart: whether it starts with the supervisor, or only when told.
    """

    program: Program
    folder: Path
    group: Group
    user: str | None = None
    autostart: bool = True


@dataclass(frozen=True, slots=True)
class ProcessReport:
    """The supervisor's word on one process; `started` is in seconds since the epoch, `pid` None when not running."""

    name: str
    group: str
    state: ProcessState
    pid: int | None
    started: int
    said: str


def log_path(data: Path, name: str) -> Path:
    """The log file of a part or program."""
    return data / LOG_FOLDER / f"{name}.log"


def configuration(data: Path, control: Control, supervised: list[Supervised]) -> str:
    """The text of supervisord's configuration file. Environments of programs are not in it.

    Files and folders are named from the data folder, where supervisord starts: the syntax cannot hold every path.

    Raises:
        StackError: a command holds a line break, which the syntax cannot express.
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
    """Start supervisord as a daemon; when this returns it listens.

    Raises:
        StackError: it refused, with what it said.
    """
    write_private(data / CONFIGURATION_FILE, text)
    finished = subprocess.run(
        [sys.executable, "-m", "supervisor.supervisord", "--configuration", str(data / CONFIGURATION_FILE)],
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
    """A running supervisord. Every method may raise StackError when it does not answer."""

    def __init__(self, control: Control) -> None:
        address = f"http://{control.user}:{control.password}@{LOOPBACK}:{control.port}/RPC2"
        self._server = xmlrpc.client.ServerProxy(address, transport=_PatientTransport())

    def pid(self) -> int:
        """The supervisor's own pid."""
        return cast("int", self._call("getPID"))

    def processes(self) -> dict[str, ProcessReport]:
        """Every process by its name."""
        reports = (_report(entry) for entry in cast("list[dict[str, Any]]", self._call("getAllProcessInfo")))
        return {report.name: report for report in reports}

    def start(self, group: str, name: str) -> None:
        """Begin to start a process, without waiting; nothing happens to one that runs."""
        try:
            wait = False
            self._call("startProcess", f"{group}:{name}", wait)
        except xmlrpc.client.Fault as fault:
            if fault.faultCode != _ALREADY_STARTED:
                raise StackError(f"{name} cannot be started: {fault.faultString}") from fault

    def _call(self, method: str, *arguments: object) -> object:
        try:
            return getattr(self._server.supervisor, method)(*arguments)
        except (OSError, http.client.HTTPException, xmlrpc.client.ProtocolError) as error:
            raise StackError(f"the stack's supervisor does not answer: {error}") from error
        finally:
            # Calls are rare; an idle kept-alive connection would only be left for the garbage collector.
            self._server("close")()


def restarts(log: Path, supervisor_pid: int, name: str) -> int:
    """How often a process was started again since its first start under this supervisor, from the supervisor's log."""
    text = "".join(_read(file) for file in (log.with_name(f"{log.name}.2"), log.with_name(f"{log.name}.1"), log))
    _, _, since = text.rpartition(f"supervisord started with pid {supervisor_pid}\n")
    spawned = re.findall(rf"INFO spawned: '{re.escape(name)}' with pid ", since)
    return max(0, len(spawned) - 1)


class _PatientTransport(xmlrpc.client.Transport):
    """Gives up on a supervisor that hangs."""

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
    # The supervisor stops groups from the highest priority number down, the members of one at the same time.
    order = list(Group)
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
    """A command as supervisord's configuration writes it, so that it is read back word for word.

    Raises:
        StackError: it holds a line break.
    """
    # A blank before ; or # begins a comment, even in quotes: end the quotes between the two, and open them again.
    quoted = re.sub(r"(\s)([;#])", r"\1''\2", shlex.join(command))
    if re.search(r"[\r\n]", quoted):
        raise StackError(f"supervisord's configuration cannot hold the command {quoted}: it has a line break")
    return quoted.replace("%", "%%")


def _section(name: str, options: dict[str, str]) -> str:
    lines = [f"{option} = {value}" for option, value in options.items()]
    return "\n".join([f"[{name}]", *lines, ""])


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
