"""More work than workers: bells stay as many as jobs, and what cannot begin in time is refused with an honest time."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import kombu
import pytest
import redis

from querymill import EmbedTexts, IngestReports, Overloaded, Querymill, Report, ReportSearch, TextToEmbed
from querymill_shared.broker import QUEUE_ARGUMENTS
from querymill_shared.settings import Settings
from tests.fakes.openai_server import OpenAIServer, embedded
from tests.fakes.rabbit import of_board
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment, finished
from tests.fixtures.tallies import until

JOBS = 2_000


@pytest.fixture
def environment(deployment: Deployment, broker_url: str) -> Iterator[dict[str, str]]:
    """A board of its own: the worker of the other tests would empty the queues."""
    url = deployment.settings.redis_url.removesuffix("/2") + "/4"
    with redis.Redis.from_url(url) as client:
        client.flushdb()
        own = {"REDIS_URL": url, "CELERY_BROKER_URL": of_board(broker_url, url), "QUERYMILL_RING_GRACE_S": "2"}
        if broker_url:
            with kombu.Connection(own["CELERY_BROKER_URL"]) as connection:
                queue = kombu.Queue("embed", queue_arguments=dict(QUEUE_ARGUMENTS), channel=connection.default_channel)
                queue.queue_declare()
                queue.purge()
        yield deployment.environment | own
        client.flushdb()


@pytest.fixture
def mill(environment: dict[str, str]) -> Iterator[Querymill]:
    fields = {name.lower(): value for name, value in environment.items()}
    with Querymill(settings=Settings.model_validate(fields)) as connected:
        yield connected


@pytest.fixture
def client(environment: dict[str, str]) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(environment["REDIS_URL"], decode_responses=True) as connected:
        yield connected


def bells_waiting(environment: dict[str, str], client: redis.Redis, queue: str) -> int:
    """Return how many bells of a queue wait, on the broker and on the board."""
    on_board = int(client.llen(queue))
    if not environment["CELERY_BROKER_URL"]:
        return on_board
    with kombu.Connection(environment["CELERY_BROKER_URL"]) as connection:
        channel: Any = connection.default_channel
        return on_board + int(channel.queue_declare(queue, passive=True).message_count)


@pytest.mark.nightly
@pytest.mark.usefixtures("openai_server")
def test_a_queue_that_nobody_empties_is_not_rung_without_bound(
    environment: dict[str, str], mill: Querymill, client: redis.Redis
) -> None:
    def submit(number: int) -> str:
        return mill.submit(EmbedTexts(collection="c", texts=(TextToEmbed(id=str(number), text="a text"),))).id

    with WorkerProcess(environment, queues="search"):
        with ThreadPoolExecutor(8) as submitters:
            jobs = list(submitters.map(submit, range(JOBS)))
        before = int(client.info("memory")["used_memory"])
        # Each step is due again after 2 s, and 4 s later.
        time.sleep(9)
        assert JOBS * 0.9 <= bells_waiting(environment, client, "embed") <= JOBS * 1.02
        assert int(client.info("memory")["used_memory"]) - before < JOBS * 1_000
        with WorkerProcess(environment, queues="embed"):
            assert {mill.job(job_id).result(timeout=60).state for job_id in jobs} == {"done"}
            # A slow machine empties the queue so slowly that some bells are rung twice. They name steps that are done.
            until(lambda: bells_waiting(environment, client, "embed") <= JOBS * 0.02, within_s=30)


def question(number: object, deadline: float) -> ReportSearch:
    return ReportSearch(query=f"how many ships in year {number}", collection="backlog", deadline=deadline)


@pytest.mark.nightly
def test_work_that_cannot_begin_in_time_is_refused_until_the_queue_is_short(
    environment: dict[str, str], mill: Querymill, openai_server: OpenAIServer
) -> None:
    page = {"page": 1, "text": "nine ships"}
    report = Report.model_validate({"sha1": "a", "title": "t", "company": "c", "pages": [page]})
    with WorkerProcess(environment, queues="search,ingest,embed", threads=1):
        finished(mill, IngestReports(collection="backlog", documents=(report,)))
        openai_server.script.embeddings = lambda request: replace(embedded(request), after_s=0.2)
        # The first job of an idle fleet is never refused, however short its deadline.
        assert mill.submit(question("first", 3)).result(timeout=10)
        slow = [mill.submit(question(number, 60)) for number in range(80)]
        refused, until = None, time.monotonic() + 10
        while refused is None and time.monotonic() < until:
            try:
                mill.submit(question(time.monotonic_ns(), 2))
            except Overloaded as error:
                refused = error
            time.sleep(0.5)
        assert refused is not None
        # Five are answered a second at most.
        assert 2 < refused.retry_after_s < 60
        assert mill.submit(question("patient", 90)).is_new
        time.sleep(refused.retry_after_s)
        for job in slow[:70]:
            assert job.result(timeout=30)
        for job in slow[70:]:
            assert job.result(timeout=30)
        until = time.monotonic() + 10
        while True:
            try:
                assert mill.submit(question("again", 2)).is_new
                break
            except Overloaded:
                assert time.monotonic() < until
                time.sleep(0.2)
