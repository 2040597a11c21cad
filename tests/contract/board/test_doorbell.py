"""Ringing on a real RabbitMQ: the board has the bell whenever the broker does not take it, and nobody waits long."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import kombu
import pytest
import redis

from querymill_shared.board.connections import open_commands
from querymill_shared.broker import QUEUE_ARGUMENTS
from querymill_shared.doorbell import AWAY_S, MAX_ON_BOARD, RING_S, Doorbell
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings
from tests.fakes.rabbit import Rabbit, channel_to_empty
from tests.fixtures.tallies import until

pytestmark = pytest.mark.one_server

HOST = "3"
JOB = "0" * 32


@pytest.fixture
def channel(shared_rabbit: Rabbit) -> Iterator[Any]:
    with channel_to_empty(shared_rabbit, HOST) as channel:
        yield channel


@pytest.fixture
def board(valkey_url: str) -> Iterator[redis.Redis]:
    with open_commands(valkey_url, decode_responses=False) as client:
        client.flushdb()
        yield client


@pytest.fixture
def doorbell(shared_rabbit: Rabbit, valkey_url: str, channel: object) -> Iterator[Doorbell]:
    settings = Settings(redis_url=valkey_url, celery_broker_url=shared_rabbit.url(HOST))
    with closing(Doorbell.connect(settings)) as doorbell:
        yield doorbell


def ring(doorbell: Doorbell) -> float:
    begun = time.monotonic()
    doorbell.ring_step(Queue.SEARCH, JOB, "original")
    return time.monotonic() - begun


def waiting(channel: Any) -> int:
    return int(channel.queue_declare("search", passive=True).message_count)


def test_a_bell_that_the_broker_takes_is_not_on_the_board(doorbell: Doorbell, board: redis.Redis, channel: Any) -> None:
    kombu.Queue("search", queue_arguments=dict(QUEUE_ARGUMENTS), channel=channel).queue_declare()
    ring(doorbell)
    assert (waiting(channel), board.llen("search")) == (1, 0)


def none(channel: Any) -> None:
    """No worker has declared the queues yet."""


def full(channel: Any) -> None:
    limited = {"x-max-length": 1, "x-overflow": "reject-publish"}
    kombu.Queue("search", queue_arguments=limited, channel=channel).queue_declare()
    message = channel.prepare_message("{}", 0, "application/json", "utf-8", {}, {})
    channel.basic_publish(message, exchange="", routing_key="search")


@pytest.mark.parametrize("prepare", [none, full], ids=lambda prepare: prepare.__name__)
def test_a_bell_that_the_broker_does_not_take_is_on_the_board(
    doorbell: Doorbell,
    board: redis.Redis,
    channel: Any,
    prepare: Callable[[Any], None],
) -> None:
    prepare(channel)
    ring(doorbell)
    assert board.llen("search") == 1


@pytest.mark.parametrize(
    "address", ["amqp://guest:guest@127.0.0.1:1//", "redis://127.0.0.1:1/0", "amqp://a@b.invalid//"]
)
def test_a_broker_that_is_not_there_costs_a_caller_next_to_nothing(
    board: redis.Redis, valkey_url: str, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(redis_url=valkey_url, celery_broker_url=address)
    with closing(Doorbell.connect(settings)) as doorbell, caplog.at_level(logging.WARNING):
        assert sum(ring(doorbell) for _ in range(20)) < RING_S + 1
    assert board.llen("search") == 20
    assert len([line for line in caplog.records if "ringing on the board until it does" in line.message]) == 1


def test_the_board_keeps_no_more_than_so_many_bells_of_a_queue_that_nobody_empties(
    doorbell: Doorbell, board: redis.Redis
) -> None:
    board.lpush("search", *(b"bell" for _ in range(MAX_ON_BOARD - 1)))
    for _ in range(3):
        ring(doorbell)
    assert board.llen("search") == MAX_ON_BOARD


#: Each begins an alarm, in which RabbitMQ takes no message, and ends it.
ALARMS = {
    "memory": (("set_vm_memory_high_watermark", "0.0001"), ("set_vm_memory_high_watermark", "0.4")),
    "disk": (("set_disk_free_limit", "100000GB"), ("set_disk_free_limit", "50MB")),
}


@pytest.mark.nightly
@pytest.mark.parametrize(("begin", "end"), ALARMS.values(), ids=ALARMS)
@pytest.mark.parametrize("is_connected", [True, False])
def test_the_board_has_the_bells_while_an_alarm_blocks_publishers(
    shared_rabbit: Rabbit, doorbell: Doorbell, board: redis.Redis, channel: Any,
    begin: tuple[str, ...], end: tuple[str, ...], is_connected: bool,
) -> None:  # fmt: skip
    kombu.Queue("search", queue_arguments=dict(QUEUE_ARGUMENTS), channel=channel).queue_declare()
    if is_connected:
        ring(doorbell)
    shared_rabbit.ask(*begin)
    try:
        time.sleep(1)
        assert ring(doorbell) < RING_S + 0.5
        assert board.llen("search") == 1
        assert ring(doorbell) < RING_S / 2, "nobody else waits for a broker that takes nothing"
        assert board.llen("search") == 2
    finally:
        shared_rabbit.ask(*end)
    kept = board.llen("search")
    time.sleep(AWAY_S)

    def is_taken() -> bool:
        before = board.llen("search")
        ring(doorbell)
        return board.llen("search") == before

    until(is_taken, within_s=30)
    assert board.llen("search") <= kept + 20


def test_a_broker_that_hangs_holds_callers_once_and_has_the_bells_again_when_it_answers(
    shared_rabbit: Rabbit, doorbell: Doorbell, board: redis.Redis, channel: Any
) -> None:
    kombu.Queue("search", queue_arguments=dict(QUEUE_ARGUMENTS), channel=channel).queue_declare()
    ring(doorbell)
    shared_rabbit.freeze()
    try:
        took: list[float] = []
        callers = [threading.Thread(target=lambda: took.append(ring(doorbell))) for _ in range(8)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert max(took) < RING_S + 1
        assert board.llen("search") == 8
        assert ring(doorbell) < RING_S / 2, "nobody else waits for a broker that hangs"
    finally:
        shared_rabbit.thaw()
    before = waiting(channel)
    time.sleep(AWAY_S)
    until(lambda: ring(doorbell) >= 0 and waiting(channel) > before, within_s=30)
