"""One tenant floods, and thousands hold streams open: others are served as if alone, and all is well soon after."""

import json
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
import redis

from querymill import (
    EmbedTexts,
    IngestReports,
    Overloaded,
    Querymill,
    TextToEmbed,
)
from querymill_shared.contracts.reports.ingest import Report
from querymill_shared.settings import Settings
from tests.fakes.flood import begin_flood, question
from tests.fakes.openai_server import OpenAIServer, embedded
from tests.fakes.rabbit import of_board
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment, finished
from tests.fixtures.gateways import PATIENCE_S, gateway_process
from tests.fixtures.tallies import until

#: The model takes so long (s), as a remote one does.
MODEL_S = 0.2
DEADLINE_S = 15.0
QUIET_QUESTIONS = 40
#: Fewer than a gateway holds: the caller beside them waits, too.
STREAMS = 1_990
#: Jobs of a burst that no worker could begin end at most so long (s) after their deadlines, on a busy machine.
LATE_S = 5.0
#: A small machine breaks no promise: so much is added to what a quiet one takes, in seconds.
SLACK_S = 0.25


@pytest.fixture
def environment(deployment: Deployment, broker_url: str) -> Iterator[dict[str, str]]:
    """A board of its own: the worker of the other tests would empty the queues."""
    url = deployment.settings.redis_url.removesuffix("/2") + "/4"
    with redis.Redis.from_url(url) as client:
        client.flushdb()
        yield deployment.environment | {"REDIS_URL": url, "CELERY_BROKER_URL": of_board(broker_url, url)}
        client.flushdb()


@pytest.fixture
def settings(environment: dict[str, str]) -> Settings:
    return Settings.model_validate({name.lower(): value for name, value in environment.items()})


@pytest.fixture
def mill(settings: Settings) -> Iterator[Querymill]:
    with Querymill(settings=settings) as connected:
        yield connected


def fill(mill: Querymill, collection: str) -> None:
    page = {"page": 1, "text": "the fleet counts nine ships"}
    report = Report.model_validate({"sha1": "a", "title": "t", "company": "c", "pages": [page]})
    finished(mill, IngestReports(collection=collection, documents=(report,)))


def p95(seconds: Sequence[float]) -> float:
    return float(np.quantile(seconds, 0.95))


@dataclass
class Asked:
    """How the questions of a tenant fared: seconds of those that were answered, and refusals with their advice."""

    seconds: list[float] = field(default_factory=list)
    refused: int = 0
    incomplete: int = 0

    def ask(self, mill: Querymill, collection: str) -> None:
        begun = time.monotonic()
        try:
            result = mill.submit(question(collection, DEADLINE_S)).result(timeout=DEADLINE_S + 5)
        except Overloaded:
            self.refused += 1
            time.sleep(0.1)
            return
        self.seconds.append(time.monotonic() - begun)
        self.incomplete += not result.complete


@dataclass
class Flood:
    """A tenant that submits as fast as it can, from processes of its own, whatever it is told."""

    environment: dict[str, str]
    folder: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def begin(self, count: int, submitters: int = 4) -> None:
        self.processes += [
            begin_flood(self.environment, "hog", count // submitters, DEADLINE_S, self._told(number))
            for number in range(submitters)
        ]

    @property
    def is_over(self) -> bool:
        return all(process.poll() is not None for process in self.processes)

    def told(self) -> tuple[list[str], list[tuple[float, float]]]:
        """Return the jobs, and of each refusal when it came (monotonic, s) and after how long (s) to come back."""
        told = [
            json.loads(line)
            for number in range(len(self.processes))
            for line in self._told(number).read_text(encoding="utf-8").splitlines()
        ]
        jobs = [each["job"] for each in told if "job" in each]
        return jobs, [(each["at"], each["retry_after_s"]) for each in told if "at" in each]

    def _told(self, number: int) -> Path:
        return self.folder / f"flood{number}.jsonl"


def lateness(mill: Querymill, jobs: Sequence[str]) -> list[float]:
    """Return how many seconds after its deadline each job ended, once all have."""
    open_jobs, late = list(jobs), list[float]()

    def have_ended() -> bool:
        records = {job: mill.job(job).picture().record for job in open_jobs}
        late.extend(record.ended - (record.deadline or 0.0) for record in records.values() if record.ended is not None)
        open_jobs[:] = [job for job, record in records.items() if record.ended is None]
        return not open_jobs

    until(have_ended, within_s=DEADLINE_S + 30)
    return late


def flooded(
    environment: dict[str, str], folder: Path, mill: Querymill, openai_server: OpenAIServer, *, count: int,
    questions: int = QUIET_QUESTIONS,
) -> None:  # fmt: skip
    """Have one tenant flood one worker, beside one that asks one question after the other."""
    openai_server.script.embeddings = lambda request: replace(embedded(request), after_s=MODEL_S)
    with WorkerProcess(environment, threads=8):
        for collection in ("quiet", "hog"):
            fill(mill, collection)
        alone, beside, flood = Asked(), Asked(), Flood(environment, folder)
        for _ in range(questions):
            alone.ask(mill, "quiet")
        begun = time.monotonic()
        flood.begin(count)
        while not flood.is_over or len(beside.seconds) + beside.refused < questions:
            beside.ask(mill, "quiet")
        submitted_s = time.monotonic() - begun
        jobs, advice = flood.told()
        late = lateness(mill, jobs)
        emptied = time.monotonic()
        after = Asked()
        for _ in range(questions):
            after.ask(mill, "hog")
        figures = {
            "submitted": count, "in_s": round(submitted_s, 1), "accepted": len(jobs),
            "refused": len(advice),
            "first_refusal_s": round(min(at for at, _ in advice) - begun, 1) if advice else None,
            "retry_after_s": round(max((after_s for _, after_s in advice), default=0.0), 1),
            "late_p99_s": round(float(np.quantile(late, 0.99)), 2), "late_max_s": round(max(late), 2),
            "beside": len(beside.seconds), "beside_refused": beside.refused,
            "alone_p95_s": round(p95(alone.seconds), 3), "beside_p95_s": round(p95(beside.seconds), 3),
            "after_p95_s": round(p95(after.seconds), 3),
        }  # fmt: skip
        print(figures)
    assert (alone.refused, beside.refused, after.refused) == (0, 0, 0), figures
    assert (alone.incomplete, beside.incomplete, after.incomplete) == (0, 0, 0), figures
    assert p95(beside.seconds) <= 2 * p95(alone.seconds) + SLACK_S, figures
    assert advice, figures
    # What was told to come back after the longest time would find the queue empty then, and not long before.
    assert max(after_s for _, after_s in advice) <= DEADLINE_S, figures
    assert emptied - max(at for at, _ in advice) < 60, figures
    assert p95(after.seconds) <= 2 * p95(alone.seconds) + SLACK_S, figures
    assert max(late) < LATE_S, figures


@pytest.mark.nightly
def test_a_tenant_that_floods_shuts_the_door_for_itself_alone(
    environment: dict[str, str], tmp_path: Path, mill: Querymill, openai_server: OpenAIServer
) -> None:
    flooded(environment, tmp_path, mill, openai_server, count=20_000)


@pytest.mark.nightly
def test_thousands_of_open_streams_whose_readers_are_slow_cost_others_nothing(
    environment: dict[str, str], settings: Settings, mill: Querymill
) -> None:
    """Two thousand streams of a job that waits, and nobody reads them, beside a caller who asks the same gateway."""
    with WorkerProcess(environment, threads=8):
        fill(mill, "quiet")
    waits = mill.submit(EmbedTexts(collection="quiet", texts=(TextToEmbed(id="1", text="nobody embeds this"),)))
    request = f"GET /v1/jobs/{waits.id}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n"
    alone, beside, after = Asked(), Asked(), Asked()
    with (
        WorkerProcess(environment, threads=8, queues="search"),
        gateway_process(environment) as gateway,
        Querymill(url=gateway.url) as http,
    ):
        for _ in range(QUIET_QUESTIONS):
            alone.ask(http, "quiet")
        address = urlsplit(gateway.url)
        with ExitStack() as opened:
            for _ in range(STREAMS):
                stream = opened.enter_context(
                    socket.create_connection((address.hostname, address.port), timeout=PATIENCE_S)
                )
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1_024)
                stream.sendall(request.encode())
            assert stream.recv(12) == b"HTTP/1.1 200", "the last of them is open"
            for _ in range(QUIET_QUESTIONS):
                beside.ask(http, "quiet")
        for _ in range(QUIET_QUESTIONS):
            after.ask(http, "quiet")
    figures = {"alone": p95(alone.seconds), "beside": p95(beside.seconds), "after": p95(after.seconds)}
    print(figures)
    assert [each.refused + each.incomplete for each in (alone, beside, after)] == [0, 0, 0], figures
    assert max(figures["beside"], figures["after"]) <= 2 * figures["alone"] + SLACK_S, figures
