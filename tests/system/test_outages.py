"""Servers that are away or silent, and workers that stand still: they cost seconds, and no job."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
import redis

from querymill import IngestReports, Job, Querymill, Settings
from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.contracts.reports.ingest import Report
from querymill_shared.contracts.vectors import EmbedDocumentsResult
from tests.fakes.openai_server import Answer, OpenAIServer, embedded
from tests.fakes.proxy import Network, network
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment, embedding_after
from tests.fixtures.tallies import until

#: What the product promises: this long after a fault the work goes on, in seconds.
RECOVERY_S = 30


def network_to(url: str) -> tuple[str, int]:
    address = urlsplit(url)
    return address.hostname or "127.0.0.1", address.port or 0


def through(url: str, net: Network) -> str:
    address = urlsplit(url)
    return address._replace(netloc=f"{address.netloc.rpartition(':')[0]}:{net.port}").geturl()


@pytest.fixture
def environment(deployment: Deployment) -> dict[str, str]:
    """A board of its own, the shipped time limits, and one attempt: an outage must not use it up."""
    url = deployment.settings.redis_url.rpartition("/")[0] + "/5"
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return deployment.environment | {
        "REDIS_URL": url, "QUERYMILL_LEASE_S": "4", "QUERYMILL_RING_GRACE_S": "2", "QUERYMILL_MAX_ATTEMPTS": "1"
    }  # fmt: skip


@pytest.fixture
def mill(environment: dict[str, str]) -> Iterator[Querymill]:
    """A client that the faults do not touch."""
    with Querymill(settings=settings_of(environment)) as connected:
        yield connected


@pytest.fixture
def database_net(environment: dict[str, str]) -> Iterator[Network]:
    with network(*network_to(environment["DATABASE_URL"])) as net:
        yield net


@pytest.fixture
def board_net(environment: dict[str, str]) -> Iterator[Network]:
    with network(*network_to(environment["REDIS_URL"])) as net:
        yield net


def settings_of(environment: dict[str, str]) -> Settings:
    return Settings.model_validate({name.lower(): value for name, value in environment.items()})


@contextmanager
def working(environment: dict[str, str], name: str = "celery") -> Iterator[WorkerProcess]:
    with WorkerProcess(environment, threads=8, name=name) as worker:
        yield worker
        print(worker.log[-6000:])  # shown if the test fails


def ingestion(collection: str) -> IngestReports:
    pages = [{"page": number, "text": f"{uuid4().hex} ships"} for number in range(12)]
    report = {"sha1": uuid4().hex, "title": "t", "company": "c", "pages": pages}
    return IngestReports(collection=collection, documents=(Report.model_validate(report),))


def embeddings(mill: Querymill, environment: dict[str, str], count: int) -> list[Job[EmbedDocumentsResult]]:
    """Ingest reports, and return the jobs that will make their vectors."""
    requests = [ingestion(f"c{uuid4().hex}") for _ in range(count)]
    with WorkerProcess(environment, threads=4, queues="ingest"):
        jobs = [mill.submit(request) for request in requests]
        return [embedding_after(mill, job) for job in jobs]


def reply_after(openai_server: OpenAIServer, seconds: float) -> None:
    """Have the embedding model take so long. Jobs that are to run all at once need seconds: a worker begins slowly."""
    openai_server.script.embeddings = lambda asked: Answer(embedded(asked).body, after_s=seconds)


def wait_until_running(jobs: Sequence[Job[Any]], count: int) -> None:
    until(lambda: sum(job.picture().record.state == "running" for job in jobs) >= count, within_s=20)


def bell_less(environment: dict[str, str], deadline: float) -> str:
    """A job that only the sweeper can end."""
    board = ValkeyBoard.connect(settings_of(environment))
    job_id, _ = board.submit(MessageSearch(query="q", collection="nowhere", deadline=deadline))
    board.close()
    return job_id


def ended_after(mill: Querymill, job_id: str) -> float:
    """Wait for the end of a job, and return its age then, in seconds."""
    until = time.monotonic() + 60
    while not (record := mill.job(job_id).picture().record).is_over:
        assert time.monotonic() < until, "nobody settled the job"
        time.sleep(0.05)
    return (record.ended or 0.0) - record.created


@pytest.mark.nightly  # by day: tests/system/test_refusing_database.py
def test_a_database_that_is_away_costs_time_and_no_ingestion(
    environment: dict[str, str], mill: Querymill, database_net: Network, openai_server: OpenAIServer
) -> None:
    reply_after(openai_server, 0.3)
    jobs = embeddings(mill, environment, 20)
    # A lease so long that a machine with its hands full is not taken for a death.
    away = {"DATABASE_URL": through(environment["DATABASE_URL"], database_net), "QUERYMILL_LEASE_S": "10"}
    with working(environment | away):
        wait_until_running(jobs, 8)
        database_net.cut()
        time.sleep(12)
        begun = time.monotonic()
        database_net.mend()
        assert [job.result(timeout=60).state for job in jobs] == ["done"] * 20
        assert time.monotonic() - begun < RECOVERY_S
        counts = [step.counts for job in jobs for step in job.picture().steps]
    assert sum(count.outages for count in counts) >= 8
    assert {count.spent for count in counts} == {0}


@pytest.mark.nightly
def test_a_database_that_falls_silent_holds_up_no_deadline_and_no_ingestion(
    environment: dict[str, str], mill: Querymill, database_net: Network, openai_server: OpenAIServer
) -> None:
    reply_after(openai_server, 3.0)
    jobs = embeddings(mill, environment, 6)
    with working(environment | {"DATABASE_URL": through(environment["DATABASE_URL"], database_net)}):
        wait_until_running(jobs, 6)
        reply_after(openai_server, 0.3)
        database_net.swallow()
        begun = time.monotonic()
        waits = [bell_less(environment, deadline) for deadline in (2.0, 6.0)]
        assert ended_after(mill, waits[0]) < 4
        assert ended_after(mill, waits[1]) < 8
        assert [job.result(timeout=60).state for job in jobs] == ["done"] * 6
        assert time.monotonic() - begun < RECOVERY_S


@pytest.mark.nightly
def test_a_board_that_falls_silent_costs_seconds(
    environment: dict[str, str], mill: Querymill, board_net: Network, openai_server: OpenAIServer
) -> None:
    reply_after(openai_server, 3.0)
    jobs: list[Job[Any]] = [*embeddings(mill, environment, 6)]
    with working(environment | {"REDIS_URL": through(environment["REDIS_URL"], board_net)}):
        wait_until_running(jobs, 6)
        reply_after(openai_server, 0.3)
        board_net.swallow()
        begun = time.monotonic()
        jobs += [mill.submit(ingestion(f"c{uuid4().hex}")) for _ in range(6)]
        late = bell_less(environment, 2.0)
        assert [job.result(timeout=60).state for job in jobs] == ["done"] * 12
        assert time.monotonic() - begun < RECOVERY_S
        assert ended_after(mill, late) < RECOVERY_S
