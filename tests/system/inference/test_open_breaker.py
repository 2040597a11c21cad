"""A provider that fails keeps no thread of a worker: what waits for it is put back, until its patience ends."""

import time
from collections.abc import Iterator
from uuid import uuid4

import pytest
import redis

from querymill import EmbedTexts, IngestReports, Querymill, Settings, TextToEmbed
from querymill_shared.contracts.reports.ingest import Report
from querymill_shared.counters import accounts
from tests.fakes.openai_server import Answer, OpenAIServer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment, Environment
from tests.fixtures.tallies import until

PATIENCE_S = 3


@pytest.fixture
def environment(deployment: Deployment) -> Environment:
    """A board of its own, and little patience."""
    url = deployment.settings.redis_url.rpartition("/")[0] + "/5"
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return deployment.environment | {"REDIS_URL": url, "QUERYMILL_OUTAGE_PATIENCE_S": str(PATIENCE_S)}


@pytest.fixture
def mill(environment: Environment) -> Iterator[Querymill]:
    settings = Settings.model_validate({name.lower(): value for name, value in environment.items()})
    with Querymill(settings=settings) as connected:
        yield connected


def embedding(collection: str) -> EmbedTexts:
    return EmbedTexts(collection=collection, texts=(TextToEmbed(id="1", text=uuid4().hex),), into="table")


def report(collection: str) -> IngestReports:
    page = {"page": 1, "text": "the fleet counts nine ships"}
    written = Report.model_validate({"sha1": uuid4().hex, "title": "t", "company": "c", "pages": [page]})
    return IngestReports(collection=collection, documents=(written,))


@pytest.mark.nightly  # by day: unit/inference/test_account.py
def test_an_open_breaker_keeps_no_thread_and_ends_the_patience_of_who_waits_for_it(
    environment: Environment, mill: Querymill, openai_server: OpenAIServer
) -> None:
    openai_server.script.embeddings = lambda asked: Answer(b"{}", status=500)
    jobs = [mill.submit(embedding(f"c{uuid4().hex}")) for _ in range(6)]
    with redis.Redis.from_url(environment["REDIS_URL"]) as board, WorkerProcess(environment, threads=2):
        until(lambda: any(account.breaker == "open" for account in accounts(board)), within_s=30)
        begun = time.monotonic()
        stored = mill.submit(report(f"c{uuid4().hex}")).result(timeout=30)
        assert (stored.state, time.monotonic() - begun < 10) == ("done", True)
        until(lambda: {job.picture().record.state for job in jobs} == {"dead"}, within_s=40)
