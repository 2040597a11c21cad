"""A Celery worker as a process of its own, to be stopped or killed."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

#: A busy machine needs its time to start a worker, in seconds.
PATIENCE_S = 120


class WorkerProcess:
    """Starts a worker for the given queues and waits until it is ready; its log is kept for the failure."""

    def __init__(
        self, environment: dict[str, str], *, queues: str = "search,expand,ingest,embed,rerank,ranks",
        threads: int = 32, app: str = "querymill_workers.app", name: str = "celery", options: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self._environment = os.environ | environment
        self._command = [
            sys.executable, "-m", "celery", "-A", app, "worker", "-Q", queues, "-P", "threads", "-c", str(threads),
            "-n", f"{name}@%h", "-l", "INFO", *options,
        ]  # fmt: skip
        self._log = Path(tempfile.mkstemp(prefix="worker-", suffix=".log")[1])
        self.process: subprocess.Popen[bytes] | None = None

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

    def start(self) -> None:
        with self._log.open("ab") as log:
            begun = log.tell()
            self.process = subprocess.Popen(self._command, env=self._environment, stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE_S
        while "worker ready" not in self._log.read_text(errors="replace")[begun:]:
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"the worker did not start:\n{self.log[-3000:]}")
            time.sleep(0.05)

    def terminate(self) -> None:
        """Ask the worker to finish what it runs and to end, and wait until it has."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(timeout=60)
            self.process = None

    def kill(self) -> None:
        """kill -9, as a node that dies would."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None
