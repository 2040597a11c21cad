"""Take bells from a broker such as RabbitMQ, which delivers them, in a thread of its own, for threads that are free.

A bell is acknowledged when it is taken, before its step begins. So the broker never waits for a step, however long that
takes, and a process that ends holds nothing back.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NoReturn

import structlog
from kombu import Connection, Consumer, Message, compression
from kombu import Queue as BrokerQueue

from querymill_shared.backlog import taken_from
from querymill_shared.broker import QUEUE_ARGUMENTS
from querymill_shared.queues import Queue
from querymill_workers import wiring
from querymill_workers.dispatch.step_pool import StepPool
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.bell_codec import NoBell, Rung, told
from querymill_workers.listener import Listener
from querymill_workers.transport import TASK_OF, DropCounter

_log = structlog.get_logger(__name__)

#: How long the listener waits for a delivery, in seconds, before it looks after the connection.
WAIT_S = 0.5
#: A bell that finds every thread busy waits here for so long (s). Then the broker has it back, for other workers.
HOLD_S = 0.05
#: What an operator may do about a queue that was declared otherwise.
MEND = "delete it while it is empty (rabbitmqctl delete_queue {}), and a worker declares it as a quorum queue"


class DeliveryListener(Listener):
    """Hands each bell that a broker delivers to the pool of threads."""

    def __init__(
        self, connect: Callable[[], Connection], queues: Callable[[], Iterable[str]], step_pool: StepPool,
        answer: Callable[[Bell], None],
    ) -> None:  # fmt: skip
        super().__init__()
        self._connect = connect
        self._queues = queues
        self._step_pool = step_pool
        self._answer = answer
        self._dropped = DropCounter()
        self._connection: Connection | None = None
        self._consumer: Any = None
        self._is_consuming = False
        self._surplus: list[tuple[Message, Bell]] = []
        self._foreign: set[str] = set()
        # kombu decompresses a body before this class sees it. If it must not, it calls `on_decode_error`.
        for name in compression.encoders():
            compression.register(refuse, refuse, name)

    def listen(self) -> None:
        """Take bells for a moment."""
        if self._connection is None:
            self._connection = self._connect()
            self._connection.ensure_connection(
                max_retries=max(1, len(self._connection.alt)), interval_start=0, interval_step=0
            )
            self._consumer = self._consumer_of(self._connection)
        if self._step_pool.wait_until_free(0 if self._is_consuming else WAIT_S):
            self._resume()
        self._connection.heartbeat_check()
        with suppress(TimeoutError):
            self._connection.drain_events(timeout=WAIT_S if self._is_consuming else 0.01)
        if self._surplus and not self._step_pool.wait_until_free(HOLD_S):
            self._pause()
        else:
            self._hand_over()

    def hang_up(self) -> None:
        """Close the connection. What was delivered and not taken goes to other workers."""
        connection, self._connection, self._is_consuming = self._connection, None, False
        self._surplus.clear()
        if connection is not None:
            with suppress(Exception):
                connection.collect()

    def _consumer_of(self, connection: Connection) -> Any:
        usable = [queue for queue in self._queues() if queue in TASK_OF and self._declared(connection, queue)]
        if not usable:
            raise LookupError("the broker has none of the queues")
        return Consumer(
            connection.channel(), [BrokerQueue(queue) for queue in usable], auto_declare=False, prefetch_count=1,
            accept=["json"], on_message=self._hear, on_decode_error=self._refuse,
        )  # fmt: skip

    def _declared(self, connection: Connection, queue: str) -> bool:
        """Whether a queue is there to take bells from. One that another program declared is used as it is."""
        try:
            with connection.channel() as channel:
                BrokerQueue(queue, queue_arguments=dict(QUEUE_ARGUMENTS), channel=channel).queue_declare()
        except connection.channel_errors as error:
            return self._found(connection, queue, error)
        return True

    def _found(self, connection: Connection, queue: str, refusal: BaseException) -> bool:
        said = str(refusal)[:200]
        try:
            with connection.channel() as channel:
                BrokerQueue(queue, channel=channel).queue_declare(passive=True)
        except connection.channel_errors as error:
            _log.error("cannot use a queue", queue=queue, error=str(error)[:200], declaring=said)
            return False
        if queue not in self._foreign:
            self._foreign.add(queue)
            _log.warning(
                "a queue is used as it is: it was declared otherwise", queue=queue, error=said, mend=MEND.format(queue)
            )
        return True

    def _resume(self) -> None:
        if not self._is_consuming:
            self._consumer.consume()
            self._is_consuming = True

    def _pause(self) -> None:
        """Take no bells until a thread is free: other workers may have one."""
        self._consumer.cancel()
        self._is_consuming = False
        for message, _ in self._surplus:
            message.requeue()
        self._surplus.clear()

    def _hand_over(self) -> None:
        while self._surplus and self._step_pool.free:
            self._take(*self._surplus.pop(0))

    def _hear(self, message: Message) -> None:
        queue = str(message.delivery_info.get("routing_key", ""))
        rung = read(message, TASK_OF[queue]) if queue in TASK_OF else NoBell.OTHER_TASK
        if isinstance(rung, NoBell):
            self._dropped.count(queue, rung)
            message.ack()
            return
        self._surplus.append((message, Bell(rung.job_id, rung.step, Queue(queue))))
        self._hand_over()

    def _take(self, message: Message, bell: Bell) -> None:
        message.ack()
        wiring.fleet_counters().count(taken_from(bell.queue))
        self._step_pool.start(lambda: self._answer(bell))

    def _refuse(self, message: Message, _: Exception) -> None:
        self._dropped.count(str(message.delivery_info.get("routing_key", "")), NoBell.CONDITIONS)
        message.ack()


def read(message: Message, task: str) -> Rung | NoBell:
    """Read a message of a queue of bells for one task. Never raises, whatever it holds."""
    if (message.content_type, message.content_encoding) != ("application/json", "utf-8"):
        return NoBell.NO_MESSAGE
    body = message.body.encode(errors="replace") if isinstance(message.body, str) else bytes(message.body or b"")
    return told(message.headers, body, task)


def refuse(_: bytes) -> NoReturn:
    """Decompress nothing: bells are not compressed, and other messages may grow to any size."""
    raise ValueError("compressed")
