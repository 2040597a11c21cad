"""The port of a worker for those who operate it: it lives, it is ready, and the figures of the fleet."""

import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import httpx
import psutil
import pytest

from querymill import Querymill, Settings
from querymill_embedded import StackPart, temporary_stack
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.queues import Queue
from tests.fakes.openai_server import Answer, OpenAIServer
from tests.fakes.proxy import Network, network
from tests.fakes.worker import PATIENCE_S, WorkerProcess
from tests.fixtures.deployment import Deployment
from tests.fixtures.tallies import until

LEASE_S: Final = 1.0


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def listener(port: int) -> psutil.Process:
    """Return the process that listens at a port."""
    listening = [found for found in psutil.net_connections("tcp4") if found.status == "LISTEN"]
    (pid,) = {found.pid for found in listening if found.laddr[1:] == (port,)}
    assert pid is not None
    return psutil.Process(pid)


@dataclass
class Watched:
    """A worker with a board of its own, and where it is asked how it is."""

    worker: WorkerProcess
    environment: dict[str, str]
    port: int
    board: psutil.Process
    network: Network

    def ask(self, path: str) -> httpx.Response:
        return httpx.get(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE_S)

    def figure(self, series: str) -> float:
        lines = [line.rpartition(" ") for line in self.ask("/metrics").text.splitlines()]
        return next(float(value) for name, _, value in lines if name == series)


@pytest.fixture
def watched(deployment: Deployment) -> Iterator[Watched]:
    with temporary_stack(parts={StackPart.VALKEY}) as stack:
        url = urlsplit(stack.environment()["REDIS_URL"])
        assert url.port is not None
        with network("127.0.0.1", url.port) as between:
            port, through = free_port(), url._replace(netloc=url.netloc.replace(f":{url.port}", f":{between.port}"))
            environment = deployment.environment | {
                "REDIS_URL": through.geturl(), "QUERYMILL_METRICS_PORT": str(port), "QUERYMILL_LEASE_S": str(LEASE_S),
            }  # fmt: skip
            with WorkerProcess(environment, threads=4, name="watched") as worker:
                yield Watched(worker, environment, port, listener(url.port), between)


def mill_of(environment: dict[str, str]) -> Querymill:
    return Querymill(settings=Settings.model_validate({name.lower(): value for name, value in environment.items()}))


def texts(query: str) -> EmbedTexts:
    return EmbedTexts(collection="c", texts=(TextToEmbed(id=query, text=query),))


def test_a_worker_counts_steps_and_what_they_cost_on_any_broker(watched: Watched, openai_server: OpenAIServer) -> None:
    assert (watched.ask("/healthz").status_code, watched.ask("/readyz").status_code) == (200, 200)
    assert watched.ask("/nothing").status_code == 404
    assert watched.figure('querymill_slots{queue="embed"}') == 4
    openai_server.script.embeddings = lambda _: Answer(b"{}", status=503, after_s=3)
    with mill_of(watched.environment) as mill:
        jobs = [mill.submit(texts(f"ships {number}")) for number in range(9)]
        until(lambda: watched.figure('querymill_steps_running{queue="embed"}') == 4, within_s=PATIENCE_S)
        until(lambda: watched.figure('querymill_steps_waiting{queue="embed"}') == 5, within_s=PATIENCE_S)
        until(lambda: watched.figure('querymill_step_oldest_seconds{queue="embed"}') > 0, within_s=PATIENCE_S)
        openai_server.reset()
        for job in jobs:
            job.result(timeout=PATIENCE_S)
    for place in ("waiting", "running"):
        assert sum(watched.figure(f'querymill_steps_{place}{{queue="{queue}"}}') for queue in Queue) == 0
    until(lambda: watched.figure('querymill_provider_tokens_total{lane="bulk"}') > 0, within_s=PATIENCE_S)
    assert watched.figure('querymill_steps_run_total{queue="embed"}') >= 9
    assert watched.figure('querymill_processor_ms_total{kind="embed",lane="bulk"}') > 0
    assert watched.figure('querymill_processor_ms_total{kind="embed",lane="interactive"}') == 0


def lives_and_is_ready(watched: Watched, *, for_s: float) -> bool:
    """Whether both probes say so all the while."""
    until_s = time.monotonic() + for_s
    while time.monotonic() < until_s:
        if (watched.ask("/healthz").status_code, watched.ask("/readyz").status_code) != (200, 200):
            return False
        time.sleep(0.1)
    return True


@pytest.mark.nightly  # by day: a worker that cannot begin, below
def test_a_worker_lives_and_is_ready_although_the_board_is_away(watched: Watched) -> None:
    watched.board.suspend()
    assert lives_and_is_ready(watched, for_s=3 * LEASE_S)
    watched.board.resume()
    until(lambda: watched.figure("querymill_board_up") == 1, within_s=PATIENCE_S)
    watched.network.cut()
    assert lives_and_is_ready(watched, for_s=3 * LEASE_S)
    assert watched.ask("/metrics").text.splitlines()[-1] == "querymill_board_up 0.0"
    watched.network.mend()
    until(lambda: watched.figure("querymill_board_up") == 1, within_s=PATIENCE_S)


def test_a_worker_that_stops_is_not_ready_but_lives(watched: Watched, openai_server: OpenAIServer) -> None:
    openai_server.script.embeddings = lambda _: Answer(b"{}", status=503, after_s=3)
    with mill_of(watched.environment) as mill:
        mill.submit(texts("ships"))
        until(lambda: watched.figure('querymill_steps_running{queue="embed"}') == 1, within_s=PATIENCE_S)
    worker = watched.worker.process
    assert worker is not None
    worker.send_signal(signal.SIGTERM)
    until(lambda: watched.ask("/readyz").status_code == 503, within_s=PATIENCE_S)
    assert watched.ask("/readyz").json() == {"status": "it is stopping"}
    assert watched.ask("/healthz").status_code == 200


def test_a_worker_that_cannot_begin_lives_and_is_not_ready(deployment: Deployment) -> None:
    """Its database takes connections and says nothing, so its checks do not end."""
    port = free_port()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        environment = deployment.environment | {
            "DATABASE_URL": f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/none",
            "QUERYMILL_METRICS_PORT": str(port),
        }  # fmt: skip
        worker = WorkerProcess(environment, threads=1, name="early")
        worker.process = worker._begin()
        try:

            def answered(path: str) -> int:
                try:
                    return httpx.get(f"http://127.0.0.1:{port}{path}").status_code
                except httpx.TransportError:
                    return 0

            silent.settimeout(PATIENCE_S)
            connection, _ = silent.accept()  # by now it is checked, and the check waits
            with connection:
                assert [answered(path) for path in ("/healthz", "/readyz", "/metrics")] == [200, 503, 200]
        finally:
            worker.kill()


def test_a_port_that_is_taken_ends_the_worker_and_is_named(deployment: Deployment) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        worker = WorkerProcess(deployment.environment | {"QUERYMILL_METRICS_PORT": str(port)}, threads=1, name="late")
        with pytest.raises(RuntimeError, match="Address already in use") as raised:
            worker.start()
    assert "could not start" in str(raised.value)
