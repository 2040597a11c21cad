"""The state of the queues, as read from the lists that kombu fills."""

import time
from collections.abc import Iterator

import pytest
import redis

from querymill_shared.backlog import Backlog, QueueState
from querymill_shared.bells import message
from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.doorbell import Doorbell
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings
from tests.fakes.bells import NO_BELLS

pytestmark = pytest.mark.one_server

SEARCH = ReportSearch(query="revenue?", collection="filings", hyde=True, deadline=5)


@pytest.fixture
def settings(valkey_url: str) -> Settings:
    return Settings(redis_url=valkey_url, querymill_ring_grace_s=0.2)


@pytest.fixture
def client(settings: Settings) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(settings.redis_url, decode_responses=True) as client:
        client.flushdb()
        yield client
        client.flushdb()


@pytest.fixture
def board(settings: Settings, client: redis.Redis) -> Iterator[ValkeyBoard]:
    opened = ValkeyBoard.connect(settings)
    yield opened
    opened.close()


def state_of(settings: Settings, client: redis.Redis, queue: Queue) -> QueueState:
    backlog = Backlog.connect(settings, client)
    assert backlog is not None
    (state,) = (state for state in backlog.look() if state.queue == queue)
    return state


def ring(board: ValkeyBoard, settings: Settings) -> str:
    job_id, _ = board.submit(SEARCH)
    doorbell = Doorbell.connect(settings)
    doorbell.ring(job_id, SEARCH)
    doorbell.close()
    return job_id


def test_an_empty_queue_has_no_oldest_bell(settings: Settings, client: redis.Redis) -> None:
    assert state_of(settings, client, Queue.SEARCH) == QueueState(Queue.SEARCH, 0)


def test_the_oldest_bell_is_the_one_that_workers_take_next(
    settings: Settings, client: redis.Redis, board: ValkeyBoard
) -> None:
    first = ring(board, settings)
    time.sleep(0.3)
    ring(board, settings)
    state = state_of(settings, client, Queue.SEARCH)
    assert state.rung_at == board.picture(first).record.created
    assert state.oldest_s is not None
    assert 0.3 <= state.oldest_s < 10
    client.rpop("search")
    younger = state_of(settings, client, Queue.SEARCH)
    assert younger.length == state.length - 1
    assert younger.oldest_s is not None
    assert younger.oldest_s < state.oldest_s
    assert state_of(settings, client, Queue.EXPAND).length == 2


def test_a_bell_for_steps_that_were_added_is_as_old_as_they_are(
    settings: Settings, client: redis.Redis, board: ValkeyBoard
) -> None:
    job_id = ring(board, settings)
    client.delete("search")
    time.sleep(0.3)
    assert board.add_steps(job_id, ["answer"], queue_of=lambda _: Queue.SEARCH) == ["answer"]
    client.lpush("search", message(Queue.SEARCH, job_id, "answer"))
    state = state_of(settings, client, Queue.SEARCH)
    assert state.rung_at is not None
    assert 0.3 <= state.rung_at - board.picture(job_id).record.created < 10


def test_a_bell_for_a_step_that_was_tried_is_as_old_as_the_last_one(
    settings: Settings, client: redis.Redis, board: ValkeyBoard
) -> None:
    job_id = ring(board, settings)
    created = board.picture(job_id).record.created
    held = board.claim(job_id, "original")
    assert held is not None
    board.postpone(held, delay_s=0.2, reason="r", cause="outage")
    time.sleep(0.5)
    assert "original" in [due.step for due in board.due()]
    state = state_of(settings, client, Queue.SEARCH)
    assert state.rung_at is not None
    assert 0.5 <= state.rung_at - created < 10


def test_a_second_bell_for_a_step_that_nobody_tried_makes_the_first_no_younger(
    settings: Settings, client: redis.Redis, board: ValkeyBoard
) -> None:
    job_id = ring(board, settings)
    time.sleep(0.3)
    board.due()
    assert state_of(settings, client, Queue.SEARCH).rung_at == board.picture(job_id).record.created


@pytest.mark.parametrize("element", NO_BELLS.values(), ids=NO_BELLS.keys())
def test_of_what_is_no_bell_only_the_number_is_known(settings: Settings, client: redis.Redis, element: bytes) -> None:
    client.lpush("search", element)
    assert state_of(settings, client, Queue.SEARCH).length == 1


def test_a_key_that_is_no_queue_holds_no_bells(settings: Settings, client: redis.Redis) -> None:
    client.set("search", "no list")
    assert state_of(settings, client, Queue.SEARCH) == QueueState(Queue.SEARCH, 0)


@pytest.mark.parametrize("url", ["amqp://127.0.0.1//", "redis://127.0.0.1:1/0;redis://127.0.0.1:2/0", "filesystem://"])
def test_nothing_is_known_of_another_broker(settings: Settings, client: redis.Redis, url: str) -> None:
    assert Backlog.connect(settings.model_copy(update={"celery_broker_url": url}), client) is None
