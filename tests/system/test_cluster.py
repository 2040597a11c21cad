"""Workers whose board is on a cluster: its bells ride on a Valkey of their own."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar
from uuid import uuid4

import psycopg
import pytest

from querymill import IngestReports, Querymill, Unavailable
from querymill.cli.doctor import diagnose
from querymill_embedded import StackPart, temporary_stack
from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.reports.ingest import Report
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment
from tests.fixtures.valkey_clusters import ValkeyCluster, valkey_cluster

T = TypeVar("T")
JOBS = 48


@pytest.fixture(scope="module")
def cluster() -> Iterator[ValkeyCluster]:
    """A cluster of this module's own: a server of it is killed."""
    with valkey_cluster() as started:
        yield started


@pytest.fixture(scope="module")
def bells() -> Iterator[str]:
    with temporary_stack(parts={StackPart.VALKEY}) as stack:
        yield stack.environment()["REDIS_URL"]


def patiently(ask: Callable[[], T]) -> T:
    """Ask again while the board is away, as a backend does after a 503."""
    until = time.monotonic() + 60
    while True:
        try:
            return ask()
        except Unavailable:
            assert time.monotonic() < until
            time.sleep(0.1)


def document(collection: str, number: int) -> IngestReports:
    report = {
        "sha1": f"{number:040x}", "title": f"Report {number}", "company": "Nordhav", "period": "2022",
        "pages": [{"page": 1, "text": f"the fleet counts {number} ships"}],
    }  # fmt: skip
    return IngestReports(collection=collection, documents=(Report.model_validate(report),))


def stored(database: psycopg.Connection, collection: str) -> int:
    row = database.execute("SELECT count(*) FROM reports WHERE collection = %s", [collection]).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.nightly
def test_none_is_lost_or_doubled_though_a_primary_dies(
    deployment: Deployment, cluster: ValkeyCluster, bells: str, database: psycopg.Connection
) -> None:
    environment = deployment.environment | {"REDIS_URL": cluster.url, "CELERY_BROKER_URL": bells}
    chosen = deployment.settings.model_copy(update={"redis_url": cluster.url, "celery_broker_url": bells})
    collection = f"c{uuid4().hex[:12]}"
    submitted = threading.Semaphore(0)

    def run(number: int) -> bool:
        key = f"{collection} {number}"
        job = patiently(lambda: mill.submit(document(collection, number), idempotency_key=key))
        submitted.release()
        return bool(patiently(lambda: job.result(timeout=90)).complete)

    with (
        WorkerProcess(environment), WorkerProcess(environment), Querymill(settings=chosen) as mill,
        ThreadPoolExecutor(8) as callers,
    ):  # fmt: skip
        asked = [callers.submit(run, number) for number in range(JOBS)]
        for _ in range(JOBS // 4):
            submitted.acquire()
        # Not the one that REDIS_URL names, so that it may be any of the others.
        victim = next(server for server in cluster.servers[1:3] if server.is_primary())
        victim.kill()
        assert [each.result() for each in asked] == [True] * JOBS
        cluster.await_whole()
        with closing(ValkeyBoard.connect(chosen)) as board:
            counts = board.counts()
    assert counts.submitted["ingest_reports"] == JOBS
    assert counts.ended == {("ingest_reports", "done"): JOBS} | {
        ended: number for ended, number in counts.ended.items() if ended[0] != "ingest_reports"
    }
    assert stored(database, collection) == JOBS


def test_a_worker_whose_broker_is_a_cluster_says_so_and_ends(deployment: Deployment, valkeys: ValkeyCluster) -> None:
    environment = os.environ | deployment.environment | {"REDIS_URL": valkeys.url, "CELERY_BROKER_URL": ""}
    command = [sys.executable, "-m", "querymill", "worker"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == os.EX_CONFIG, ended.stderr[-2000:]
    assert "carries no bells: set CELERY_BROKER_URL" in ended.stdout + ended.stderr


@pytest.mark.nightly  # the others of its findings take long
@pytest.mark.parametrize("broker", ["", "the same", "another"])
def test_doctor_names_a_broker_that_is_a_cluster(
    deployment: Deployment, valkeys: ValkeyCluster, monkeypatch: pytest.MonkeyPatch, broker: str
) -> None:
    for name, value in deployment.environment.items():
        monkeypatch.setenv(name, value)
    if broker != "another":
        monkeypatch.setenv("REDIS_URL", valkeys.url)
    monkeypatch.setenv("CELERY_BROKER_URL", broker and valkeys.url)
    (found,) = [finding for finding in diagnose() if finding.name == "broker"]
    assert found.ok is False
    assert found.mend.startswith("CELERY_BROKER_URL:" if broker else "REDIS_URL:")
    assert "RabbitMQ" in found.mend
