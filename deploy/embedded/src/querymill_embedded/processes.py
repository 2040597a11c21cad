"""Processes by pid and creation time, because the system reuses pids, and how to stop them."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

#: Environment variable that names the stack which started a process.
STACK_VARIABLE = "QUERYMILL_STACK"

_CLOCK_TOLERANCE_S = 2.0
_STOP_WAIT_S = 10.0
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A pid, and the creation time of its process in seconds since the epoch."""

    pid: int
    created: float

    @classmethod
    def of(cls, pid: int) -> "ProcessIdentity":
        """Return the identity of a running process.

        Raises:
            psutil.NoSuchProcess: no process has this pid.
        """
        return cls(pid, psutil.Process(pid).create_time())

    def is_alive(self) -> bool:
        """Whether this process still runs. A zombie does not."""
        try:
            process = psutil.Process(self.pid)
            # The system derives this time from its boot time, which moves when the clock is set.
            same = abs(process.create_time() - self.created) < _CLOCK_TOLERANCE_S
            return same and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False


def this_process() -> ProcessIdentity:
    """Return the identity of the current process."""
    return ProcessIdentity.of(os.getpid())


def supervisor_by_pid_file(pid_file: Path, data: Path) -> ProcessIdentity | None:
    """Return the supervisor that a pid file names, or None if it does not run or belongs to another data folder."""
    try:
        pid = int(pid_file.read_text(encoding="ascii"))
        identity = ProcessIdentity.of(pid)
        ours = _belongs(psutil.Process(pid), data)
    except (FileNotFoundError, ValueError, psutil.NoSuchProcess):
        return None
    return identity if ours else None


def end_session(supervisor: ProcessIdentity, data: Path, *, wait_s: float) -> None:
    """Ask a supervisor to stop its processes in order, wait for it, then stop the processes that it left.

    Args:
        supervisor: may already be dead.
        data: the data folder that the processes belong to.
        wait_s: seconds after which the supervisor is killed.
    """
    if supervisor.is_alive():
        os.kill(supervisor.pid, signal.SIGTERM)
    deadline = time.monotonic() + wait_s
    while supervisor.is_alive():
        if time.monotonic() > deadline:
            os.kill(supervisor.pid, signal.SIGKILL)
        time.sleep(_POLL_S)
    stop_all(leftovers(supervisor, data))


def leftovers(supervisor: ProcessIdentity, data: Path) -> list[psutil.Process]:
    """Return the processes that a dead supervisor left running.

    A supervisor leads a session of its own, and every process that it starts or restarts is in that session. The
    system may reuse the number of a session, so a process must also belong to the data folder.
    """
    return [process for process in _session(supervisor.pid) if _belongs(process, data)]


def stop_all(processes: Sequence[psutil.Process], *, wait_s: float = _STOP_WAIT_S) -> None:
    """Ask processes to stop, and kill those that still run after `wait_s` seconds."""
    for process in processes:
        _send(process, stop_signal(process))
    _, stubborn = psutil.wait_procs(processes, timeout=wait_s)
    for process in stubborn:
        _send(process, signal.SIGKILL)
    psutil.wait_procs(stubborn, timeout=wait_s)


def listens(pid: int, port: int) -> bool:
    """Whether this process, or one that it started, listens on a TCP port."""
    try:
        leader = psutil.Process(pid)
        family = [leader, *leader.children(recursive=True)]
        return any(_has_listener(process, port) for process in family)
    except psutil.NoSuchProcess:
        return False


def stop_signal(process: psutil.Process) -> signal.Signals:
    """Return the signal for a clean stop. PostgreSQL gets SIGINT, because with SIGTERM it waits for its clients."""
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


def _has_listener(process: psutil.Process, port: int) -> bool:
    try:
        connections = process.net_connections(kind="tcp")
    except psutil.NoSuchProcess:
        return False
    return any(open_.status == psutil.CONN_LISTEN and open_.laddr.port == port for open_ in connections)


def _belongs(process: psutil.Process, data: Path) -> bool:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        # PostgreSQL overwrites its environment with its process title, but stays in its folder.
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
