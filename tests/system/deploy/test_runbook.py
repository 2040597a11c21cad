"""The commands of the runbook, each run as it is written, on a fleet that has what they look for."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from querymill import ReportSearch
from querymill_shared.board import ValkeyBoard, Verdict
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.worker import PATIENCE_S, WorkerProcess
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import gateway_process
from tests.fixtures.prometheus import DEPLOY
from tests.fixtures.readme_blocks import blocks_of, numbered
from tests.fixtures.tallies import until

pytestmark = pytest.mark.nightly
RUNBOOK: Final = DEPLOY / "docs" / "runbook.md"
#: Commands for a machine with systemd: its programs, and the files that its units read.
ELSEWHERE: Final = ("systemctl", "journalctl", "cp /etc/", "sed --in-place")
ENDS: Final = {
    "dead": Verdict("dead", reason="its workers died", code="lost"),
    "unwanted": Verdict("dead", reason="its workers died", code="lost"),
    "failed": Verdict("failed", reason="the model refused", code="provider_refused"),
    "incomplete": Verdict("done", result="{}", complete=False, degraded=1),
}


@dataclass
class OnCall:
    """Somebody with a shell, the settings of the fleet, and jobs that ended in each way."""

    folder: Path
    environment: dict[str, str]
    gateway: str
    collection: str
    jobs: dict[str, str]

    def run(self, command: str) -> str:
        """Run a command to its end, which must be good. Return what it printed. A doctor may find something."""
        ran = subprocess.run(
            ["bash", "-c", command], cwd=self.folder, env=self.environment, capture_output=True, text=True,
            timeout=4 * PATIENCE_S, check=False,
        )  # fmt: skip
        assert ran.returncode in ((0, 3) if command == "querymill doctor" else (0,)), (
            f"{command}\n{ran.stdout}\n{ran.stderr}"
        )
        return ran.stdout

    def work(self, command: str) -> None:
        """Start a worker, and stop it once it is ready."""
        log = self.folder / f"{uuid4().hex}.log"
        with log.open("wb") as out:
            worker = subprocess.Popen(
                ["bash", "-c", f"exec {command}"], cwd=self.folder, env=self.environment, stderr=out
            )
        try:
            until(lambda: "worker ready" in log.read_text(), within_s=PATIENCE_S)
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.wait(PATIENCE_S)

    def filled(self, command: str, section: str) -> str:
        """Put in what a reader puts in."""
        url = urlsplit(self.environment["REDIS_URL"])
        job = "unwanted" if "drop" in command else "failed" if section == "QuerymillJobsFail" else "dead"
        client = next(name for name in ("valkey-cli", "redis-cli") if shutil.which(name))
        values = {
            r"\bID\b": self.jobs[job], r"\bKIND\b": "reports", r"--collection C\b": f"--collection {self.collection}",
            r"\$\(cat \S+/valkey-admin\)": url.password or "''", "--user admin": f"--user {url.username or 'default'}",
            r"\bHOST\b": url.hostname or "", r"\bPORT\b": str(url.port), "valkey-cli": client,
            "http://127.0.0.1:8080": self.gateway,
        }  # fmt: skip
        for written, value in values.items():
            command = re.sub(written, value, command)
        return command


@pytest.fixture
def on_call(
    deployment: Deployment, worker: WorkerProcess, filings: str, openai_server: OpenAIServer, tmp_path: Path
) -> Iterator[OnCall]:
    with gateway_process(deployment.environment) as gateway, closing(ValkeyBoard.connect(deployment.settings)) as board:
        jobs = {}
        for name, verdict in ENDS.items():
            asked = ReportSearch(query=uuid4().hex, collection=filings, deadline=500)
            jobs[name], _ = board.submit(asked)
            board.settle(jobs[name], verdict)
        programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = os.environ | deployment.environment | {"PATH": programs}
        yield OnCall(tmp_path, environment, gateway.url, filings, jobs)


def commands() -> Iterator[tuple[str, str]]:
    """Yield each command with the title of its section."""
    for section in RUNBOOK.read_text().split("\n## "):
        for _, _, command in numbered(blocks_of(section + "\n")):
            yield section.partition("\n")[0], command.strip()


def test_each_command_of_the_runbook_does_what_it_says(on_call: OnCall) -> None:
    ran, printed = 0, {}
    for section, written in commands():
        command = on_call.filled(written, section).partition("  #")[0].strip()
        if command.startswith(ELSEWHERE):
            continue
        ran += 1
        if command.startswith("querymill worker"):
            on_call.work(command)
        else:
            printed[section, written.partition("  #")[0].strip()] = on_call.run(command)
    assert ran > 15
    dead, failed = on_call.jobs["dead"], on_call.jobs["failed"]
    assert dead in printed["QuerymillJobsDead", "querymill jobs --state dead"]
    assert "its workers died" in printed["QuerymillJobsDead", "querymill job show ID"]
    assert printed["QuerymillJobsDead", "querymill job replay ID"] == f"{dead} replayed\n"
    assert printed["QuerymillJobsDead", "querymill job drop ID"] == f"{on_call.jobs['unwanted']} dropped\n"
    assert failed in printed["QuerymillJobsFail", "querymill jobs --state failed"]
    incomplete = printed["QuerymillJobsIncomplete", "querymill jobs --state incomplete"]
    assert on_call.jobs["incomplete"] in incomplete
    assert failed not in incomplete
    assert "maxmemory:" in next(said for (_, command), said in printed.items() if "INFO memory" in command)
