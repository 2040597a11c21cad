"""Ringing on a broker that is not the board's own server, and on the board itself while that broker is away."""

import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Final, Self
from uuid import uuid4

import redis
from kombu import Connection, Producer

from querymill_shared import bells
from querymill_shared.board.connections import open_commands, run_command
from querymill_shared.board.ringing import steps_to_ring
from querymill_shared.broker import broker_options
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings

_log = logging.getLogger(__name__)

#: A caller waits this long for the broker to have a bell, in seconds. Then the board gets it.
RING_S: Final = 0.5
#: After the broker failed, one caller tries it again each time that this many seconds have passed.
AWAY_S: Final = 2.0
#: The board keeps so many bells of a queue. For a queue that nobody empties, the sweeper would ring without end.
MAX_ON_BOARD: Final = 1_000
#: What a broker that has stopped answering may take to open a connection, and to answer on one, in seconds.
OPEN_S, ANSWER_S = 4, 10


class Doorbell:
    """Rings on the broker; on the board while the broker is away. A bell carries only a job id and the name of a step.

    A thread of its own speaks to the broker, so no caller waits longer than `RING_S` for one that hangs.
    """

    def __init__(self, connect: Callable[[], Connection], board: redis.Redis) -> None:
        self._connect = connect
        self._board = board
        self._rung: SimpleQueue[tuple[Queue, str, str, Future[None]] | None] = SimpleQueue()
        self._pid = 0
        self._is_away = False
        self._left_alone_until = float("-inf")

    @classmethod
    def connect(cls, settings: Settings) -> Self:
        """Return a doorbell for the broker of the settings. It connects on first use."""
        return cls(lambda: connection_to(settings.broker_url), open_commands(settings.redis_url, max_connections=2))

    def ring(self, job_id: str, request: JobRequest) -> None:
        """Ring for every step of a job that is on the board. If ringing fails, the sweeper rings later."""
        try:
            for queue, step in steps_to_ring(request):
                self.ring_step(queue, job_id, step)
        except redis.RedisError as error:
            _log.warning("job %s is on the board, its bell is not rung yet: %s", job_id, type(error).__name__)

    def ring_step(self, queue: Queue, job_id: str, step: str) -> None:
        """Ring for one step.

        Raises:
            redis.RedisError: Neither the broker nor the board can be reached.
        """
        if self._rings_on_broker(queue, job_id, step):
            return
        if run_command(self._board, ("LLEN", queue.value)) < MAX_ON_BOARD:
            run_command(self._board, ("LPUSH", queue.value, bells.message(queue, job_id, step)))

    def close(self) -> None:
        """Close the connections, in their thread: a broker that hangs keeps nobody from ending."""
        self._rung.put(None)
        self._board.close()

    def _rings_on_broker(self, queue: Queue, job_id: str, step: str) -> bool:
        now = time.monotonic()
        if now < self._left_alone_until:
            return False
        if self._is_away:
            self._left_alone_until = now + AWAY_S  # for all other callers
        if self._pid != os.getpid():  # the thread of a parent does not live in its child
            self._pid, self._rung = os.getpid(), SimpleQueue()
            threading.Thread(target=self._run, args=(self._rung,), name="doorbell", daemon=True).start()
        sent: Future[None] = Future()
        self._rung.put((queue, job_id, step, sent))
        try:
            sent.result(timeout=RING_S)
        except Exception as error:  # noqa: BLE001  # whatever a broker does, the board rings
            sent.cancel()
            self._left_alone_until = time.monotonic() + AWAY_S
            if not self._is_away:
                said = f"{type(error).__name__} {error}"[:200]
                _log.warning("the broker takes no bell, ringing on the board until it does: %s", said)
            self._is_away = True
            return False
        if self._is_away:
            _log.info("the broker takes bells again")
        self._is_away, self._left_alone_until = False, float("-inf")
        return True

    def _run(self, rung: "SimpleQueue[tuple[Queue, str, str, Future[None]] | None]") -> None:
        producer: Producer | None = None
        while asked := rung.get():
            queue, job_id, step, sent = asked
            if not sent.set_running_or_notify_cancel():
                continue
            try:
                producer = producer or _open(self._connect())
                _publish(producer, queue, job_id, step)
            except Exception as error:  # noqa: BLE001  # the caller hears of it
                _close(producer)
                producer = None
                sent.set_exception(error)
            else:
                sent.set_result(None)
        _close(producer)


def connection_to(broker_url: str) -> Connection:
    """Return a connection to a broker, which is opened on first use."""
    options = broker_options(broker_url, transport="querymill_shared.broker:KeptClientTransport")
    return Connection(
        options["broker_write_url"],
        ssl=options.get("broker_use_ssl", False),
        transport=options.get("broker_transport"),
        transport_options=options["broker_transport_options"],
        connect_timeout=OPEN_S,
    )


def refusal_of(broker_url: str) -> str | None:
    """Return what a broker says that does not take a message from the user of its address, or None if it takes one.

    No queue gets the message. On RabbitMQ nothing less shows whether the user may ring.
    """
    connection = connection_to(broker_url)
    try:
        _open(connection).publish(
            "", routing_key=f"probe-{uuid4()}", exchange="", timeout=ANSWER_S, confirm_timeout=ANSWER_S
        )
    except Exception as error:  # noqa: BLE001  # whatever a broker does, somebody is told
        return str(error) or type(error).__name__
    finally:
        with suppress(Exception):
            connection.collect()
    return None


def _open(connection: Connection) -> Producer:
    # A broker that is started again is reached by a new connection at the next try.
    connection.ensure_connection(max_retries=max(1, len(connection.alt)), interval_start=0, interval_step=0)
    return Producer(connection.channel())


def _publish(producer: Producer, queue: Queue, job_id: str, step: str) -> None:
    headers, body = bells.parts(queue, job_id, step)
    producer.publish(
        body, routing_key=queue.value, exchange="", headers=headers, content_type="application/json",
        content_encoding="utf-8", timeout=ANSWER_S, confirm_timeout=ANSWER_S,
        # RabbitMQ returns what no queue takes, as long as no worker has declared them.
        mandatory=True,
    )  # fmt: skip


def _close(producer: Any) -> None:
    if producer is not None:
        with suppress(Exception):
            producer.connection.collect()
