"""Processes by identity: a pid alone may belong to somebody else tomorrow."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

#: The variable by which a process tells which stack started it.
STACK_VARIABLE = "QUERYMILL_STACK"

_CLOCK_TOLERANCE_S = 2.0
_STOP_WAIT_S = 10.0
_LOOK_EVERY_S = 0.02


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A pid and when that process was created (seconds since the epoch)."""

    pid: int
    created: float

    @classmethod
    def of(cls, pid: int) -> "ProcessIdentity":
        """The identity of a living process.

        Raises:
            psutil.NoSuchProcess: there is none.
        """
        return cls(pid, psutil.Process(pid).create_time())

    def is_alive(self) -> bool:
        """Whether this very process still runs; one that only waits to be reaped does not."""
        try:
            process = psutil.Process(self.pid)
            # The system computes the time from its boot time, which moves when the clock is set.
            same = abs(process.create_time() - self.created) < _CLOCK_TOLERANCE_S
            return same and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False


def this_process() -> ProcessIdentity:
    """The identity of the calling process."""
    return ProcessIdentity.of(os.getpid())


def supervisor_by_pid_file(pid_file: Path, data: Path) -> ProcessIdentity | None:
    """The supervisor a pid file names, if it runs and works for this data folder."""
    try:
        pid = int(pid_file.read_text(encoding="ascii"))
        identity = ProcessIdentity.of(pid)
        ours = _belongs(psutil.Process(pid), data)
    except (FileNotFoundError, ValueError, psutil.NoSuchProcess):
        return None
    return identity if ours else None


def end_session(supervisor: ProcessIdentity, data: Path, *, wait_s: float) -> None:
    """Ask a supervisor to stop everything in its order, wait for it, and stop what is left without it.

    Args:
        supervisor: may be dead already.
        data: the folder whose processes these are.
        wait_s: seconds after which the supervisor and what it still holds are ended by force.
    """
    if supervisor.is_alive():
        os.kill(supervisor.pid, signal.SIGTERM)
    deadline = time.monotonic() + wait_s
    while supervisor.is_alive():
        if time.monotonic() > deadline:
            os.kill(supervisor.pid, signal.SIGKILL)
        time.sleep(_LOOK_EVERY_S)
    stop_all(leftovers(supervisor, data))


def leftovers(supervisor: ProcessIdentity, data: Path) -> list[psutil.Process]:
    """What a dead supervisor left running.

    A supervisor leads a session of its own, and a process started after a crash is in that session too, so none
    escapes because only its predecessor was written down. As a session number may be given out again, a process
    must also show that it belongs to the data folder.
    """
    return [process for process in _session(supervisor.pid) if _belongs(process, data)]


def stop_all(processes: Sequence[psutil.Process], *, wait_s: float = _STOP_WAIT_S) -> None:
    """End processes in the clean way, and by force after `wait_s` seconds."""
    for process in processes:
        _send(process, stop_signal(process))
    _, stubborn = psutil.wait_procs(processes, timeout=wait_s)
    for process in stubborn:
        _send(process, signal.SIGKILL)
    psutil.wait_procs(stubborn, timeout=wait_s)


def stop_signal(process: psutil.Process) -> signal.Signals:
    """PostgreSQL takes SIGTERM for "when the last client has gone"."""
    try:
        return signal.SIGINT if process.name() == "postgres" else signal.SIGTERM
    except psutil.NoSuchProcess:
        return signal.SIGTERM


def _session(leader_pid: int) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and os.getsid(process.pid) == leader_pid:
                yield process
        except (ProcessLookupError, PermissionError):
            continue


def _belongs(process: psutil.Process, data: Path) -> bool:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        # PostgreSQL overwrites its environment with its title, but stays in its folder.
        if Path(process.cwd()).is_relative_to(data):
            return True
        return process.environ().get(STACK_VARIABLE) == str(data)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


def _send(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return
