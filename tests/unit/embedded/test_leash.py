"""The leash as a process: what it watches, whom it asks to stop, what it removes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from querymill_embedded.processes import STACK_VARIABLE, ProcessIdentity
from querymill_embedded.servers import leash_process

#: Stands in for the supervisor: leads a session, starts the leash, and ends on SIGTERM.
SUPERVISOR = """
import subprocess, sys
leash = subprocess.Popen(sys.argv[1:])
print(leash.pid, flush=True)
leash.wait()
"""


@dataclass
class Leashed:
    data: Path
    owner: "subprocess.Popen[bytes]"
    supervisor: "subprocess.Popen[str]"
    leash: psutil.Process


@pytest.fixture
def leashed(tmp_path: Path) -> Iterator[Leashed]:
    data = tmp_path / "qm"
    data.mkdir()
    (data / "stack.json").write_text("{}")
    with subprocess.Popen(["sleep", "60"]) as owner:
        command = leash_process(data, ProcessIdentity.of(owner.pid)).program.command
        with subprocess.Popen(
            [sys.executable, "-c", SUPERVISOR, *command],
            cwd=data,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, STACK_VARIABLE: str(data)},
        ) as supervisor:
            assert supervisor.stdout is not None
            leash = psutil.Process(int(supervisor.stdout.readline()))
            try:
                yield Leashed(data, owner, supervisor, leash)
            finally:
                for process in (supervisor, owner):
                    process.kill()
                if leash.is_running():
                    leash.kill()


def eventually(holds: Callable[[], bool], *, within_s: float = 60) -> bool:
    until = time.monotonic() + within_s
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    return holds()


def test_when_its_owner_is_killed_the_supervisor_is_stopped_and_the_folder_removed(leashed: Leashed) -> None:
    leashed.owner.send_signal(signal.SIGKILL)
    assert eventually(lambda: leashed.supervisor.poll() is not None)
    assert leashed.supervisor.returncode == -signal.SIGTERM
    assert eventually(lambda: not leashed.data.exists())
