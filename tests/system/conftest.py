"""Celery workers as processes, on real servers, with models that do what a test says."""

from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest
import redis

from querymill import Querymill, Settings
from querymill_shared.contracts.reports import IngestReport, Report
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.worker import WorkerProcess

COLLECTION = "filings"
PAGES = {
    "a1": ("Nordhav Shipping 2022", "Nordhav", "2022", ["the fleet counts nine ships", "revenue rose to forty million",
           "the board proposes a dividend of two kroner"]),
    "a2": ("Nordhav Shipping 2021", "Nordhav", "2021", ["the fleet counted seven ships", "revenue was thirty million"]),
    "b1": ("Borough Foods 2022", "Borough Foods", "2022", ["tomato soup sells well", "revenue of the soup kitchen"]),
}  # fmt: skip


@dataclass(frozen=True)
class Deployment:
    """The settings that clients and workers of the system tests share."""

    settings: Settings
    environment: dict[str, str]


@pytest.fixture(scope="session")
def deployment(valkey_url: str, database_url: str, _openai_server: OpenAIServer) -> Deployment:
    environment = {
        "REDIS_URL": valkey_url.removesuffix("/1") + "/2",
        "DATABASE_URL": database_url,
        "OPENAI_BASE_URL": _openai_server.url,
        "EMBEDDING_BASE_URL": _openai_server.url,
        "EMBEDDING_MODEL": "multilingual-e5-small",
        "CHAT_MODEL": "scripted",
        "QUERYMILL_LEASE_S": "1",
        "QUERYMILL_RING_GRACE_S": "0.5",
        "QUERYMILL_MAX_ATTEMPTS": "3",
        "QUERYMILL_EMBEDDING_TIMEOUT_S": "2",
    }
    fields = {name.lower(): value for name, value in environment.items()}
    return Deployment(Settings.model_validate(fields), environment)


@pytest.fixture(scope="session")
def worker(deployment: Deployment) -> Iterator[WorkerProcess]:
    """One worker for every queue, alive for the whole run."""
    with WorkerProcess(deployment.environment) as process:
        yield process


@pytest.fixture
def mill(deployment: Deployment) -> Iterator[Querymill]:
    with Querymill(settings=deployment.settings) as connected:
        yield connected


@pytest.fixture
def board_client(deployment: Deployment) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(deployment.settings.redis_url, decode_responses=True) as client:
        yield client


@pytest.fixture
def database(database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def filings(worker: WorkerProcess, mill: Querymill, openai_server: OpenAIServer) -> str:
    """A collection of three small reports, ingested through the workers."""
    jobs = [
        mill.submit(
            IngestReport(
                collection=COLLECTION,
                report=Report.model_validate({
                    "sha1": sha1, "title": title, "company": company, "period": period,
                    "pages": [{"page": number, "text": text} for number, text in enumerate(pages, start=1)],
                }),
            )
        )
        for sha1, (title, company, period, pages) in PAGES.items()
    ]  # fmt: skip
    for job in jobs:
        job.result(timeout=20)
    return COLLECTION
