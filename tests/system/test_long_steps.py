"""A step that takes longer than a broker or an operator waits: the worker lives, or ends in time and hands it on."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis

from querymill import Job, Querymill, Settings
from querymill_shared.contracts.embed import EmbedResult, EmbedTexts
from querymill_workers.services.embed import SLICE_TEXTS
from tests.fakes.lists import lists
from tests.fakes.openai_server import Answer, OpenAIServer, embedded
from tests.fakes.proxy import network
from tests.fakes.rabbit import of_board, rabbit
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment
from tests.fixtures.tallies import until

#: The shared RabbitMQ ends a channel on which a message is held for 2 s.
HELD_TOO_LONG_S = 5
#: A process that is asked to end has ended after so many seconds, whatever its steps do.
ENDS_WITHIN_S = 15.0
LONG_S = 19


@pytest.fixture
def environment(deployment: Deployment, broker_url: str) -> dict[str, str]:
    """A board of its own for workers that end."""
    url = deployment.settings.redis_url.rpartition("/")[0] + "/4"
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return deployment.environment | {
        "REDIS_URL": url, "CELERY_BROKER_URL": of_board(broker_url, url), "QUERYMILL_LEASE_S": "4",
        "QUERYMILL_RING_GRACE_S": "2", "QUERYMILL_EMBEDDING_TIMEOUT_S": "20",
    }  # fmt: skip


@pytest.fixture
def mill(environment: dict[str, str]) -> Iterator[Querymill]:
    with Querymill(settings=settings_of(environment)) as connected:
        yield connected


def settings_of(environment: dict[str, str]) -> Settings:
    return Settings.model_validate({name.lower(): value for name, value in environment.items()})


def begin(mill: Querymill, *, count: int = 1) -> Job[EmbedResult]:
    texts = tuple({"id": str(number), "text": f"ships {number} {time.monotonic_ns()}"} for number in range(count))
    return mill.submit(EmbedTexts.model_validate({"collection": "filings", "texts": texts}))


def test_a_worker_outlives_a_step_that_takes_longer_than_a_message_may_be_held(
    environment: dict[str, str], mill: Querymill, openai_server: OpenAIServer, broker_url: str
) -> None:
    if not broker_url:
        pytest.skip("only RabbitMQ asks how long a message is held: --broker rabbitmq")
    openai_server.script.embeddings = lambda asked: Answer(embedded(asked).body, after_s=HELD_TOO_LONG_S)
    with WorkerProcess(environment, threads=1) as worker:
        process = worker.process
        job, next_job = begin(mill), begin(mill)
        assert len(job.result(timeout=30).vectors) == len(next_job.result(timeout=30).vectors) == 1
        assert [step.attempt for each in (job, next_job) for step in each.picture().steps] == [1, 1]
        assert worker.is_alive
        assert worker.process == process
        assert "cannot fetch bells" not in worker.log


@pytest.mark.nightly
@pytest.mark.timeout(300)
def test_a_worker_outlives_a_step_of_a_minute_where_a_message_may_be_held_for_20_s(
    environment: dict[str, str], openai_server: OpenAIServer
) -> None:
    openai_server.script.embeddings = lambda asked: Answer(embedded(asked).body, after_s=LONG_S)
    with rabbit("-rabbit consumer_timeout 20000 -rabbit channel_tick_interval 1000") as server:
        own = environment | {"CELERY_BROKER_URL": server.url("4")}
        with WorkerProcess(own, threads=1) as worker, Querymill(settings=settings_of(own)) as mill:
            job = begin(mill, count=3 * SLICE_TEXTS)  # three calls of 19 s, one after the other
            assert len(job.result(timeout=120).vectors) == 3 * SLICE_TEXTS
            assert [step.attempt for step in job.picture().steps] == [1]
            assert worker.is_alive
            assert "cannot fetch bells" not in worker.log


@contextmanager
def twice(environment: dict[str, str]) -> Iterator[tuple[dict[str, str], Callable[[WorkerProcess], None]]]:
    """Its supervisor is impatient."""

    def ask_again(worker: WorkerProcess) -> None:
        assert worker.process is not None
        worker.process.terminate()
        time.sleep(1)

    yield environment, ask_again


@contextmanager
def without_broker(environment: dict[str, str]) -> Iterator[tuple[dict[str, str], Callable[[WorkerProcess], None]]]:
    """The broker was killed a moment ago."""
    with rabbit() if environment["CELERY_BROKER_URL"] else lists() as server:
        url = of_board(server.url(), environment["REDIS_URL"])
        yield environment | {"CELERY_BROKER_URL": url}, lambda worker: server.kill()


@contextmanager
def without_board(environment: dict[str, str]) -> Iterator[tuple[dict[str, str], Callable[[WorkerProcess], None]]]:
    """The board cannot be reached by the worker that leaves."""
    at = urlsplit(environment["REDIS_URL"])
    assert at.hostname is not None
    assert at.port is not None
    with network(at.hostname, at.port) as net:
        login = at.netloc.rpartition("@")[0]
        through = at._replace(netloc=f"{login}{'@' if login else ''}127.0.0.1:{net.port}").geturl()
        yield environment | {"REDIS_URL": through}, lambda worker: net.cut()


@pytest.mark.nightly
@pytest.mark.parametrize("trouble", [twice, without_broker, without_board], ids=lambda trouble: trouble.__name__)
def test_a_worker_that_is_asked_to_end_in_trouble_ends_in_time_and_another_does_its_step(
    environment: dict[str, str], openai_server: OpenAIServer, trouble: Any
) -> None:
    openai_server.script.embeddings = lambda asked: Answer(embedded(asked).body, after_s=LONG_S)
    with trouble(environment) as (own, begin_trouble), Querymill(settings=settings_of(own)) as mill:
        straight = own | {"REDIS_URL": environment["REDIS_URL"]}
        with WorkerProcess(own, name="leaving", threads=2) as leaving:
            job_id = begin(mill, count=3 * SLICE_TEXTS).id  # three calls of 19 s, one after the other
            until(lambda: openai_server.requests, within_s=30)
            openai_server.script.embeddings = embedded
            begin_trouble(leaving)
            asked = time.monotonic()
            leaving.terminate()
            took_s = time.monotonic() - asked
            with (
                WorkerProcess(straight, name="staying", threads=2),
                Querymill(settings=settings_of(straight)) as straight_mill,
            ):
                job = straight_mill.job(job_id)
                assert job.result(timeout=60).state == "done"
    assert took_s <= ENDS_WITHIN_S
    (step,) = job.picture().steps
    assert step.attempt == 2


def test_a_worker_that_is_asked_to_end_during_a_long_step_ends_in_time_and_another_does_it_once(
    environment: dict[str, str], mill: Querymill, openai_server: OpenAIServer
) -> None:
    openai_server.script.embeddings = lambda asked: Answer(embedded(asked).body, after_s=LONG_S)
    with WorkerProcess(environment, name="leaving", threads=2) as leaving:
        job = begin(mill)
        until(lambda: openai_server.requests, within_s=30)
        openai_server.script.embeddings = embedded
        with WorkerProcess(environment, name="staying", threads=2):
            asked = time.monotonic()
            leaving.terminate()
            took_s, ended = time.monotonic() - asked, time.monotonic()
            assert len(job.result(timeout=30).vectors) == 1
            again_s = time.monotonic() - ended
    assert took_s <= ENDS_WITHIN_S
    (step,) = job.picture().steps
    assert (step.attempt, step.counts.pauses, step.counts.deaths) == (2, 1, 0)
    assert again_s < 2, "it was put back at once, not when its lease ran out"
