"""A process that has imported what a program needs, and becomes that program in a fork for each order it reads.

Most of what a worker's or a command's start costs are its imports, seconds of processor time. The fork reads its
settings, connects and ends like any other: nothing that depends on the environment is imported before it.
"""

import atexit
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

#: What is imported before the fork.
NEEDED: Final = {
    "celery": ("celery.bin.worker", "celery.worker.consumer", "kombu.transport.redis", "querymill_workers.wiring"),
    "querymill": (
        "querymill.cli.main", "querymill.client.board_transport",
        "querymill.cli.search", "querymill.cli.ingest", "querymill.cli.documents", "querymill.cli.jobs",
        "querymill.cli.embed", "querymill.cli.answer", "querymill.cli.keys", "querymill.cli.status",
        "querymill_evaluation.cli.evaluate",
    ),
    "gateway": ("querymill.gateway.server", "querymill.gateway.mcp"),
}  # fmt: skip


class Forks:
    """The process that forks. It ends with this one."""

    def __init__(self, program: str) -> None:
        command = [sys.executable, "-m", "tests.fakes.forks", program]
        root = Path(__file__).parents[2]  # wherever the test is that asks first
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root)
        self._answering = threading.Lock()
        atexit.register(self.close)

    def start(
        self, arguments: Sequence[str], *, environment: Mapping[str, str], out: Path, err: Path | None = None,
        given: Path | None = None, status: Path | None = None,
    ) -> int:  # fmt: skip
        """Run the program with these arguments, its output being appended to files; returns the process id.

        With a ``status``, the process waits for the program, writes its exit code there, and leads their group.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {
            "arguments": [*arguments], "environment": dict(environment), "folder": str(Path.cwd()), "out": str(out),
            "err": str(err or out), "given": str(given or os.devnull), "status": status and str(status),
        }  # fmt: skip
        with self._answering:
            print(json.dumps(order), file=self._process.stdin, flush=True)
            return int(self._process.stdout.readline())

    def close(self) -> None:
        """End the process. The programs go on."""
        self._process.communicate()


@cache
def forks(program: str) -> Forks:
    """Return the one process of this process that becomes this program: a key of `NEEDED`."""
    return Forks(program)


def _serve(program: str) -> bool:
    """Fork for each order; returns whether this is a fork, a program that has yet to begin."""
    for name in NEEDED[program]:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a fork that has ended
    for line in sys.stdin:
        if process_id := os.fork():
            print(process_id, flush=True)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _become(program, **json.loads(line))
        return True
    return False


def _become(
    program: str, *, arguments: list[str], environment: dict[str, str], folder: str, out: str, err: str, given: str,
    status: str | None,
) -> None:  # fmt: skip
    """Take the place that a process of its own would have."""
    if status is not None:
        os.setsid()
        if process_id := os.fork():
            code = os.waitstatus_to_exitcode(os.waitpid(process_id, 0)[1])
            Path(status).write_text(str(code))
            os._exit(0)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    os.dup2(os.open(given, os.O_RDONLY), 0)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # the other one has read orders
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), number)
    sys.argv = [str(Path(sys.executable).with_name(program)), *arguments]


if __name__ == "__main__" and _serve(sys.argv[1]):
    match Path(sys.argv[0]).name:
        case "celery":
            from celery.__main__ import main
        case "gateway":
            from querymill.gateway.__main__ import main
        case _:
            from querymill_command import main

    sys.exit(main())
