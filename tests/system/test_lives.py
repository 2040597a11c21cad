"""Workers that die, come back or are busy, and the steps that they held."""

import threading
import time
from collections.abc import Iterator

import pytest
import redis

from querymill import Job, Querymill, Settings
from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.embed import EmbedResult, EmbedTexts
from tests.fakes.openai_server import Answer, OpenAIServer, embedded, held
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment
from tests.fixtures.tallies import until

#: How long a scripted embedding takes, in seconds.
EMBEDDING_S = 1.5


@pytest.fixture
def environment(deployment: Deployment, openai_server: OpenAIServer) -> dict[str, str]:
    """A board of its own for workers that are killed."""
    openai_server.script.embeddings = lambda asked: Answer(embedded(asked).body, after_s=EMBEDDING_S)
    url = deployment.settings.redis_url.rpartition("/")[0] + "/4"
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return deployment.environment | {
        "REDIS_URL": url, "QUERYMILL_LEASE_S": "4", "QUERYMILL_RING_GRACE_S": "2", "QUERYMILL_EMBEDDING_TIMEOUT_S": "20"
    }  # fmt: skip


@pytest.fixture
def mill(environment: dict[str, str]) -> Iterator[Querymill]:
    with Querymill(settings=settings_of(environment)) as connected:
        yield connected


@pytest.fixture
def board(environment: dict[str, str]) -> Iterator[ValkeyBoard]:
    board = ValkeyBoard.connect(settings_of(environment))
    yield board
    board.close()


def settings_of(environment: dict[str, str]) -> Settings:
    return Settings.model_validate({name.lower(): value for name, value in environment.items()})


def embed_each(mill: Querymill, count: int) -> list[Job[EmbedResult]]:
    """Submit jobs that one worker holds at once."""
    run = time.monotonic_ns()
    texts = [[{"id": "a", "text": f"text {run} {number}"}] for number in range(count)]
    return [mill.submit(EmbedTexts.model_validate({"collection": "lives", "texts": text})) for text in texts]


def wait_until_running(jobs: list[Job[EmbedResult]]) -> None:
    until(lambda: all(job.picture().steps[0].state == "running" for job in jobs))


def attempts(jobs: list[Job[EmbedResult]]) -> set[int]:
    """Wait for the results, and say in which attempts they were made."""
    assert all(job.result(timeout=60).complete for job in jobs)
    return {step.attempt for job in jobs for step in job.picture().steps}


def test_a_worker_that_comes_back_under_its_name_does_not_wait_for_the_lease(
    environment: dict[str, str], mill: Querymill, openai_server: OpenAIServer
) -> None:
    was_killed = threading.Event()
    openai_server.script.embeddings = held(was_killed, embedded)
    patient = environment | {"QUERYMILL_LEASE_S": "10"}
    with WorkerProcess(patient, name="a", threads=8) as victim:
        jobs = embed_each(mill, 6)
        wait_until_running(jobs)
        victim.kill()
        openai_server.script.embeddings = embedded
        was_killed.set()
        victim.start()
        started = time.monotonic()
        assert attempts(jobs) == {2}
        recovery_s = time.monotonic() - started
    assert recovery_s < 6, "of the lease of 10 s more is left on a machine at rest"


@pytest.mark.nightly  # by day: the leases, contract/board
def test_no_step_is_taken_from_a_worker_that_is_only_busy(environment: dict[str, str], mill: Querymill) -> None:
    with (
        WorkerProcess(environment, name="busy", threads=8, app="tests.fakes.busy_worker"),
        WorkerProcess(environment, name="idle", threads=8),
    ):
        assert attempts(embed_each(mill, 8)) == {1}


def test_a_worker_that_is_stopped_in_good_order_leaves_the_list(
    environment: dict[str, str], board: ValkeyBoard
) -> None:
    with WorkerProcess(environment, name="a") as worker:
        # A process is on the list before it knows what it serves.
        until(lambda: [worker.slots for worker in board.workers()] == [32], within_s=30)
        (listed,) = board.workers()
        assert listed.name.partition("@")[0] == "a"
        assert set(listed.queues) == {"search", "expand", "ingest", "embed", "rerank", "ranks"}
        worker.terminate()
    assert board.workers() == []
