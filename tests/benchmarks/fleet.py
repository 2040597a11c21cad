"""Programs that benchmarks run beside the stack: worker processes, and the provider they call."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

import redis

from querymill_embedded import Program
from querymill_shared.board import keys, lives


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def provider(port: int, *options: str) -> Program:
    """The provider on a port: with a limit, or "slow" or "steady" without one."""
    return Program(
        name="provider",
        command=(sys.executable, "-m", "tests.benchmarks.provider", str(port), *options),
        environment={"PYTHONPATH": os.getcwd()},  # noqa: PTH109  # a string for another process
        stop_signal="KILL",
    )


def worker(name: str, queues: str, threads: int, environment: Mapping[str, str]) -> Program:
    """One worker process of ours."""
    command = (
        sys.executable, "-m", "celery", "-A", "querymill_workers.app", "worker", "-Q", queues, "-P", "threads",
        "-c", str(threads), "-n", f"{name}@%h", "-l", "ERROR", "--without-gossip", "--without-mingle",
        "--without-heartbeat",
    )  # fmt: skip
    return Program(name=name, command=command, environment=dict(environment), stop_signal="KILL", settle_s=4)


def workers_ready(redis_url: str, count: int, *, within_s: float = 60) -> None:
    """Wait until one of the workers sweeps, and a little for the others."""
    deadline = time.monotonic() + within_s
    with redis.Redis.from_url(redis_url) as client:
        while not client.exists(keys.SWEEPERS):
            if time.monotonic() > deadline:
                raise TimeoutError("no worker came up")
            time.sleep(0.2)
    time.sleep(1.0 * count)


def workers_alive(redis_url: str, started: Sequence[subprocess.Popen[bytes]], *, within_s: float = 1_800) -> None:
    """Wait until all worker processes have told the board that they live. A busy machine needs minutes to start them.

    Raises:
        ChildProcessError: One of them ended instead.
        TimeoutError: They run, and did not come up within the time.
    """
    deadline = time.monotonic() + within_s
    with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        while len(lives.read_lives(client)) < len(started):
            if ended := [process.args for process in started if process.poll() is not None]:
                raise ChildProcessError(f"a worker ended before it came up: {ended[0]!r}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"fewer than {len(started)} workers came up")
            time.sleep(0.2)
