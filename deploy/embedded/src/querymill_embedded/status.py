"""The status of every part and program of a stack, for people to read."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from querymill_embedded.errors import StackError
from querymill_embedded.parts import StackPart, address
from querymill_embedded.passwords import passwords_of
from querymill_embedded.probes import answers
from querymill_embedded.state import StackState
from querymill_embedded.supervisor import (
    LOG_FILE,
    LOG_FOLDER,
    ProcessReport,
    ProcessState,
    SupervisorClient,
    log_path,
    restarts,
)


@dataclass(frozen=True, slots=True)
class PartStatus:
    """The status of a part or program.

    Attributes:
        name: its name.
        state: the state that the supervisor reports; `dead` if the supervisor has died (`up` fixes that), `unknown`
            if it does not respond. A server that passes its probe is `running`, even in its first second.
        pid: None if it does not run.
        address: host:port, or None if it serves no port.
        log: its log file.
        uptime_s: seconds since its last start; None if it does not run.
        restarts: how often it was restarted since `up`.
    """

    name: str
    state: ProcessState
    pid: int | None
    address: str | None
    log: Path
    uptime_s: float | None
    restarts: int


def part_statuses(state: StackState, data: Path) -> list[PartStatus]:
    """Return the status of every part and program, in the order of their start."""
    try:
        reports = SupervisorClient(state.control).processes()
    except StackError:
        reports = {}
    silent = ProcessState.UNKNOWN if state.supervisor.is_alive() else ProcessState.DEAD
    passwords = passwords_of(state.ports, data)
    return [_status(name, state, data, reports.get(name), silent, passwords) for name in state.names]


def _status(
    name: str,
    state: StackState,
    data: Path,
    report: ProcessReport | None,
    silent: ProcessState,
    passwords: Mapping[StackPart, str],
) -> PartStatus:
    pid = None if report is None else report.pid
    port = {part.value: port for part, port in state.ports.items()}.get(name)
    served = state.programs.get(name) if port is None else port
    return PartStatus(
        name=name,
        state=silent if report is None else _state(report, port, passwords),
        pid=pid,
        address=None if served is None else address(served),
        log=log_path(data, name),
        uptime_s=None if report is None or pid is None else time.time() - report.started,
        restarts=restarts(data / LOG_FOLDER / LOG_FILE, state.supervisor.pid, name),
    )


def _state(report: ProcessReport, port: int | None, passwords: Mapping[StackPart, str]) -> ProcessState:
    # The supervisor calls a process running after its first second. A server can be ready before that.
    if report.state is ProcessState.STARTING and port is not None:
        part = StackPart(report.name)
        if answers(part, port, passwords.get(part)):
            return ProcessState.RUNNING
    return report.state
