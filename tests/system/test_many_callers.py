"""A thousand callers in one process, and hundreds of threads in one worker: everybody is answered."""

import asyncio
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from querymill import AsyncQuerymill, Querymill, ReportSearch
from querymill_shared.contracts.reports.search import ReportResult
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment

CALLERS = 1_000
THREADS = 150


def question(collection: str, number: int) -> ReportSearch:
    return ReportSearch(query=f"revenue in year {number}", collection=collection, deadline=60)


def outcome_of(result: ReportResult | BaseException) -> str:
    """What became of a call. By words alone is an answer too: a vector that comes too late is not waited for."""
    if isinstance(result, BaseException):
        return type(result).__name__
    lacking = [each for each in result.degraded if each.stage != "embed"]
    return f"degraded: {lacking}" if lacking or not result.results else "answered"


@pytest.mark.nightly
def test_1000_threads_wait_in_one_process(mill: Querymill, filings: str) -> None:
    def ask(number: int) -> str:
        try:
            return outcome_of(mill.submit(question(filings, number)).result(timeout=60))
        except Exception as error:  # noqa: BLE001  # what callers see is what is counted
            return outcome_of(error)

    with ThreadPoolExecutor(CALLERS) as callers:
        assert Counter(callers.map(ask, range(CALLERS))) == {"answered": CALLERS}


@pytest.mark.nightly
def test_1000_coroutines_wait_in_one_process(deployment: Deployment, filings: str) -> None:
    async def ask_all() -> Counter[str]:
        async with AsyncQuerymill(settings=deployment.settings) as mill:

            async def ask(number: int) -> ReportResult:
                return await (await mill.submit(question(filings, number))).result(timeout=60)

            results = await asyncio.gather(*map(ask, range(CALLERS)), return_exceptions=True)
            return Counter(map(outcome_of, results))

    assert asyncio.run(ask_all()) == {"answered": CALLERS}


class Gate:
    """Holds every chat call until as many have come as are expected."""

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self._coming = threading.Semaphore(0)
        self._open = threading.Event()

    def __call__(self, _: object) -> Answer:
        self._coming.release()
        self._open.wait(20)
        return chat_answer("| revenue | 10 |")

    def wait_until_all_came(self) -> None:
        for _ in range(self._expected):
            assert self._coming.acquire(timeout=20)

    def open(self) -> None:
        self._open.set()


@pytest.mark.nightly
def test_150_threads_of_one_worker_do_not_want_for_a_connection(
    deployment: Deployment, filings: str, openai_server: OpenAIServer
) -> None:
    openai_server.script.chat = gate = Gate(THREADS)
    url = deployment.settings.redis_url.removesuffix("/2") + "/3"
    # Without a limit, the fleet would find out by and by how many calls the model answers at once.
    own = {"REDIS_URL": url, "QUERYMILL_LEASE_S": "10", "CHAT_RPM": "1000000", "EMBEDDING_RPM": "1000000"}
    settings = deployment.settings.model_copy(update={"redis_url": url})
    with (
        WorkerProcess(deployment.environment | own, threads=THREADS) as worker,
        Querymill(settings=settings) as mill,
        redis.Redis.from_url(url) as server,
    ):
        searches = [question(filings, number).model_copy(update={"hyde": True}) for number in range(THREADS)]
        jobs = [mill.submit(search) for search in searches]
        gate.wait_until_all_came()
        # A server that pauses for a moment: every thread has a command under way at once.
        server.client_pause(500)
        gate.open()
        results = [job.result(timeout=60) for job in jobs]
        pictures = [job.picture() for job in jobs]
        log = worker.log
    assert "ConnectionsError" not in log
    assert Counter(map(outcome_of, results)) == {"answered": THREADS}
    assert {step.attempt for picture in pictures for step in picture.steps} == {1}
