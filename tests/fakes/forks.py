"""A process that has imported what a worker needs, and becomes a worker in a fork for each order it reads.

Most of what a worker's start costs are its imports, seconds of processor time. The fork reads its settings, connects
and ends like any other worker: nothing that depends on the environment is imported before it.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path


class Forks:
    """The process that forks. It ends with this one."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.fakes.forks"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        atexit.register(self.close)

    def start(self, arguments: Sequence[str], *, environment: Mapping[str, str], log: Path) -> int:
        """Run Celery with these arguments, the log being appended to; returns the process id."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {"arguments": [*arguments], "environment": dict(environment), "log": str(log)}
        print(json.dumps(order), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End the process. The workers go on."""
        self._process.communicate()


@cache
def forks() -> Forks:
    """Return the one process of this process."""
    return Forks()


def _serve() -> bool:
    """Fork for each order; returns whether this is a fork, a worker that has yet to begin."""
    from celery.bin import worker  # noqa: F401
    from celery.worker import consumer  # noqa: F401
    from kombu.transport import redis  # noqa: F401

    from querymill_workers import wiring  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a worker that has ended
    for line in sys.stdin:
        if process_id := os.fork():
            print(process_id, flush=True)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _become(**json.loads(line))
        return True
    return False


def _become(arguments: list[str], environment: dict[str, str], log: str) -> None:
    """Take the place that a process of its own would have."""
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    written = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(written, 1)
    os.dup2(written, 2)
    sys.argv = ["celery", *arguments]


if __name__ == "__main__" and _serve():
    from celery.__main__ import main

    sys.exit(main())
