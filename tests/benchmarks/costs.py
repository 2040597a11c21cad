"""What a fleet costs: the processor time of its processes, and what it asks of the server."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import psutil
import redis


@dataclass(frozen=True)
class Fleet:
    """The processes of this run whose command line has a word, with the processes that they started."""

    word: str
    url: str
    processes: list[psutil.Process] = field(default_factory=list)

    def find(self) -> None:
        """Look for the processes that run now."""
        self.processes.clear()
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                words = " ".join(process.cmdline()).split()
                of_run = (
                    process.environ().get("REDIS_URL") == self.url or f"127.0.0.1:{urlsplit(self.url).port}" in words
                )
                if of_run and any(self.word in word for word in words):
                    self.processes.append(process)
        assert self.processes, f"no process of {self.word}"

    def pause(self) -> None:
        """Stop the processes, so that they cost nothing while another fleet is measured."""
        for process in self.processes:
            process.suspend()

    def resume(self) -> None:
        """Let the processes go on."""
        for process in self.processes:
            process.resume()

    def processor_s(self) -> float:
        """Return the processor time that the processes have used."""
        return sum(times.user + times.system for times in (process.cpu_times() for process in self.processes))


@contextmanager
def alone(others: Sequence[Fleet]) -> Iterator[None]:
    """Let the other fleets stand still meanwhile."""
    for other in others:
        other.pause()
    try:
        yield
    finally:
        for other in others:
            other.resume()
        time.sleep(1.0)


def server_s(port: int) -> float:
    """Return the processor time of the server that listens on a port of this machine, and of its children."""
    (server,) = {
        connection.pid
        for connection in psutil.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,) and connection.pid is not None
    }
    return tree_s(psutil.Process(server))


def tree_s(process: psutil.Process) -> float:
    """Return the processor time of a process and its children, also of those that have ended."""
    times = process.cpu_times()
    spent = times.user + times.system + times.children_user + times.children_system
    for child in process.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            times = child.cpu_times()
            spent += times.user + times.system
    return spent


def own_s() -> float:
    """Return the processor time of this process, which plays the callers."""
    times = os.times()
    return times.user + times.system


def calls(url: str) -> Mapping[str, int]:
    """Return how often each command was called on the server."""
    with redis.Redis.from_url(url) as client:
        known = client.info("commandstats")
    return {name.removeprefix("cmdstat_"): row["calls"] for name, row in known.items()}
