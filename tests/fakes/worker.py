"""A Celery worker as a process of its own, to be stopped or killed."""

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from tests.fakes.forks import forks
from tests.fakes.rabbit import of_board

#: A busy machine needs its time to start a worker, in seconds.
PATIENCE_S = 120


class WorkerProcess:
    """Starts a worker for the given queues and waits until it is ready; its log is kept for the failure."""

    def __init__(
        self, environment: dict[str, str], *, queues: str = "search,expand,ingest,embed,rerank,ranks",
        threads: int = 32, app: str = "querymill_workers.app", name: str = "celery", options: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self._environment = os.environ | environment
        if broker := environment.get("CELERY_BROKER_URL"):
            self._environment["CELERY_BROKER_URL"] = of_board(broker, environment["REDIS_URL"])
        # Of another release, nothing of this one may be imported.
        self._is_forked = "PYTHONPATH" not in environment
        self._arguments = [
            "-A", app, "worker", "-Q", queues, "-P", "threads", "-c", str(threads), "-n", f"{name}@%h", "-l", "INFO",
            *options,
        ]  # fmt: skip
        self._log = Path(tempfile.mkstemp(prefix="worker-", suffix=".log")[1])
        self.process: psutil.Process | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._log.unlink(missing_ok=True)

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def is_alive(self) -> bool:
        return self.process is not None and self.process.is_running() and self.process.status() != psutil.STATUS_ZOMBIE

    def start(self) -> None:
        begun = self._log.stat().st_size
        self.process = self._begin()
        deadline = time.monotonic() + PATIENCE_S
        while "worker ready" not in self._log.read_text(errors="replace")[begun:]:
            if not self.is_alive or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"the worker did not start:\n{self.log[-3000:]}")
            time.sleep(0.05)

    def _begin(self) -> psutil.Process:
        if self._is_forked:
            return psutil.Process(forks("celery").start(self._arguments, environment=self._environment, out=self._log))
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", "celery", *self._arguments]
            return psutil.Popen(command, env=self._environment, stdout=log, stderr=log)

    def terminate(self) -> None:
        """Ask the worker to finish what it runs and to end, and wait until it has."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(timeout=60)
            self.process = None

    def kill(self) -> None:
        """kill -9, as a node that dies would."""
        if self.process is not None:
            with suppress(psutil.NoSuchProcess):
                self.process.kill()
            self.process.wait()
            self.process = None
