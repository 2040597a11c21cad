"""A thousand streams and fifty submits a second on one gateway process: what is lost, how late it is, what it weighs.

No worker runs: the benchmark tells the events itself, at a steady rate, so that what is measured is the gateway. An
event's delay runs from when it was told until a reader of another process has it.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil

from querymill import EmbedTexts, Settings, TextToEmbed
from querymill_embedded import StackPart, temporary_stack
from querymill_shared.board import ValkeyBoard, Verdict
from querymill_shared.contracts.events import Progress
from tests.benchmarks import harness
from tests.fixtures.gateways import gateway_process

READERS, SUBMITS_PER_S, EVENTS_PER_S, SECONDS = 1_000, 50, 200, 20
TARGETS: dict[str, harness.Target] = {
    "events_lost": ("==", 0.0),
    "event_delay_p99_ms": ("<=", 100.0),
    "submits_failed": ("==", 0.0),
    "memory_kb_per_reader": ("<=", 60.0),
}


def main() -> int:
    """Start the servers once; measure."""
    with temporary_stack(parts={StackPart.VALKEY}) as stack:
        url = stack.environment()["REDIS_URL"]
        board = ValkeyBoard.connect(Settings(redis_url=url))
        try:
            return harness.run("gateway", lambda: measured(board, url), TARGETS)
        finally:
            board.close()


def measured(board: ValkeyBoard, url: str) -> harness.Figures:
    """Take every figure once."""
    jobs = [board.submit(request(f"{number} {time.time()}"))[0] for number in range(READERS)]
    with gateway_process({"REDIS_URL": url}) as gateway:
        httpx.get(f"{gateway.url}/v1/jobs").raise_for_status()
        process = gateway.process
        before_kb, used = process.memory_info().rss / 1024, cpu_s(process)
        with reading(gateway.url, jobs) as readers:
            readers.stdout.readline()
            after_kb = process.memory_info().rss / 1024
            submits = Submits(gateway.url)
            submits.start()
            told = tell(board, jobs)
            submits.join()
            for job_id in jobs:
                board.settle(job_id, Verdict("failed", reason="the end"))
            report: dict[str, Any] = json.loads(readers.stdout.readline())
        used = cpu_s(process) - used
    delays = report["delays_ms"]
    # Every stream also has the event that the job was queued, and its end.
    return {
        "sse_readers": float(READERS),
        "events_lost": float(told + 2 * READERS - report["events"]),
        "event_delay_p50_ms": statistics.median(delays),
        "event_delay_p99_ms": statistics.quantiles(delays, n=100)[98],
        "submits_per_s": submits.sent / SECONDS,
        "submits_failed": float(submits.failed),
        "submit_p99_ms": statistics.quantiles(submits.took_ms, n=100)[98],
        "memory_kb_per_reader": (after_kb - before_kb) / READERS,
        "gateway_cpu_share": used / SECONDS,
    }


def request(text: str) -> EmbedTexts:
    """Return a request that differs from the others."""
    return EmbedTexts(collection="bench", texts=(TextToEmbed(id="a", text=text),))


def cpu_s(process: psutil.Process) -> float:
    """Return the processor time that a process has used."""
    times = process.cpu_times()
    return float(times.user + times.system)


def tell(board: ValkeyBoard, jobs: list[str]) -> int:
    """Tell an event of one job after the other, at a steady rate. Return how many."""
    started = time.perf_counter()
    count = EVENTS_PER_S * SECONDS
    for number in range(count):
        time.sleep(max(started + number / EVENTS_PER_S - time.perf_counter(), 0))
        board.append_event(jobs[number % len(jobs)], Progress(stage=repr(time.time()), done=number, total=count))
    return count


class Submits(threading.Thread):
    """Submits jobs at a steady rate."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self.sent = self.failed = 0
        self.took_ms: list[float] = []

    def run(self) -> None:
        """Submit until the time is over."""
        started = time.perf_counter()
        with httpx.Client(base_url=self._url) as client:
            for number in range(SUBMITS_PER_S * SECONDS):
                time.sleep(max(started + number / SUBMITS_PER_S - time.perf_counter(), 0))
                begun = time.perf_counter()
                body = {"kind": "embed", "collection": "bench", "texts": [{"id": "a", "text": f"{number} {begun}"}]}
                self.failed += client.post("/v1/jobs", json=body).status_code != 202
                self.sent += 1
                self.took_ms.append((time.perf_counter() - begun) * 1000)


@contextmanager
def reading(url: str, jobs: list[str]) -> Iterator[Any]:
    """Run the process of the readers."""
    with tempfile.TemporaryDirectory() as folder:
        ids = Path(folder) / "ids.json"
        ids.write_text(json.dumps(jobs), encoding="utf-8")
        command = [sys.executable, "-m", "tests.benchmarks.gateway_readers", url, str(ids)]
        environment = os.environ | {"PYTHONPATH": os.getcwd()}  # noqa: PTH109  # a string for another process
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        try:
            yield process
            process.wait(60)
        finally:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


if __name__ == "__main__":
    sys.exit(main())
