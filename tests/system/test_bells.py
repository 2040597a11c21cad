"""Whatever lies on a queue: a worker process drops and counts what is no bell, and answers the bells beside it."""

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import redis
from celery import Celery

from querymill import Querymill, ReportSearch
from querymill_shared import counters
from querymill_shared.board import ValkeyBoard
from querymill_shared.queues import Queue
from tests.fakes.bells import DEADLY, NO_BELLS, rung
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment
from tests.fixtures.short_forms import named_at_night
from tests.fixtures.tallies import until


@pytest.fixture
def survivor(filings: str, worker: WorkerProcess) -> Iterator[WorkerProcess]:
    """The only worker there is; alive again afterwards even if a test ends it."""
    yield worker
    if not worker.is_alive:
        worker.start()


def dropped(client: redis.Redis, queue: Queue = Queue.SEARCH) -> float:
    return counters.read(client).get(f"elements_dropped/{queue}", 0)


def question() -> ReportSearch:
    return ReportSearch(query=f"how many ships? {time.monotonic_ns()}", collection="filings", deadline=8)


def answered(mill: Querymill) -> bool:
    return mill.submit(question()).result(timeout=10).complete


@pytest.mark.parametrize("element", named_at_night(DEADLY, short=[*DEADLY][::5]))
def test_what_is_no_bell_is_dropped_and_counted_and_the_next_bell_is_answered(
    mill: Querymill, survivor: WorkerProcess, board_client: redis.Redis, element: bytes
) -> None:
    before = dropped(board_client)
    board_client.lpush("search", element)
    assert answered(mill)
    until(lambda: dropped(board_client) == before + 1)
    assert survivor.is_alive


def test_a_key_that_is_no_queue_is_set_aside(
    mill: Querymill, survivor: WorkerProcess, board_client: redis.Redis
) -> None:
    before = dropped(board_client)
    board_client.delete("search")
    board_client.set("search", "no list")
    until(lambda: not board_client.exists("search"), within_s=20)  # once the fetch that waits is over
    assert board_client.getdel("search:set-aside") == "no list"
    assert answered(mill)
    until(lambda: dropped(board_client) == before + 1)
    assert survivor.is_alive


def test_a_worker_starts_beside_a_key_that_is_no_queue_and_a_ledger_nobody_wrote(
    mill: Querymill, survivor: WorkerProcess, board_client: redis.Redis
) -> None:
    survivor.kill()
    board_client.delete("search")
    board_client.set("search", "no list")
    board_client.hset("unacked", "x", "garbage")
    board_client.zadd("unacked_index", {"x": 1})
    survivor.start()
    assert answered(mill)
    board_client.delete("search:set-aside", "unacked", "unacked_index")


#: What kombu's and Celery's own code would subscribe to, or look up when it starts.
CHANNELS = (
    "/{db}.celery.pidbox",
    "/{db}.reply.celery.pidbox",
    "/{db}.celeryev/worker.heartbeat",
    "/{db}.celeryev/task.sent",
)
BINDINGS = (
    "_kombu.binding.celery", "_kombu.binding.celeryev", "_kombu.binding.celery.pidbox", "_kombu.binding_deadlines",
    "_kombu.binding_permanent.celery",
)  # fmt: skip


@pytest.mark.parametrize("message", ["null", "[]", "garbage", '{"method": "shutdown"}'])
def test_a_worker_hears_no_remote_control(
    deployment: Deployment, mill: Querymill, survivor: WorkerProcess, board_client: redis.Redis, message: str
) -> None:
    db = deployment.settings.redis_url.rsplit("/", 1)[1]
    for channel in CHANNELS:
        assert board_client.publish(channel.format(db=db), message) == 0
    Celery(broker=deployment.settings.redis_url).control.shutdown()
    assert answered(mill)
    assert survivor.is_alive


def test_a_worker_starts_beside_bindings_of_another_type(
    mill: Querymill, survivor: WorkerProcess, board_client: redis.Redis
) -> None:
    survivor.kill()
    for key in BINDINGS:
        board_client.delete(key)
        board_client.set(key, "no binding")
    survivor.start()
    assert answered(mill)
    board_client.delete(*BINDINGS)


#: What a broker carries that reads the envelope of a message itself.
ENVELOPED = (
    "another body: null", "another body: a number", "another body: an object", "another body: an empty list",
    "content type absent", "content type unknown", "time limits a text", "a list for a task", "a list for an id",
    "a task that is not there", "no id", "a bomb", "a large bomb",
)  # fmt: skip


def put(folder: Path, message: Any) -> None:
    """Put a message into a folder as kombu does, but whole at once: a worker may take a file that is being written."""
    name = f"{time.monotonic_ns() // 1_000_000}_{uuid4()}.search.msg"
    (folder / f"{name}.written").write_text(json.dumps(message))
    (folder / f"{name}.written").rename(folder / name)


@pytest.mark.usefixtures("filings")
def test_on_another_broker_than_redis_what_is_no_bell_is_dropped_and_counted_too(
    deployment: Deployment, tmp_path: Path
) -> None:
    # A board of its own: the worker of the other tests would answer too.
    url = deployment.settings.redis_url.removesuffix("/2") + "/3"
    environment = deployment.environment | {"REDIS_URL": url, "CELERY_BROKER_URL": "filesystem://"}
    with (
        WorkerProcess(
            environment | {"QUEUE_FOLDER": str(tmp_path)}, app="tests.fakes.worker_of_files", queues="search"
        ) as process,
        closing(ValkeyBoard.connect(deployment.settings.model_copy(update={"redis_url": url}))) as board,
        redis.Redis.from_url(url) as client,
    ):
        for name in ENVELOPED:
            put(tmp_path, json.loads(NO_BELLS[name]))
            job_id, _ = board.submit(question())
            put(tmp_path, rung(job_id))
            until(lambda: board.picture(job_id).record.state == "done")  # noqa: B023  # called at once
        until(lambda: dropped(client) == len(ENVELOPED))
        assert process.is_alive
        (warning,) = (
            json.loads(line) for line in process.log.splitlines() if "dropped an element that is not a bell" in line
        )
        assert (warning["level"], warning["queue"]) == ("warning", "search")
        assert warning["reason"] == "something else than a job id and a step"
