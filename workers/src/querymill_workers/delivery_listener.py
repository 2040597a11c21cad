"""Take bells from a broker such as RabbitMQ, which delivers them, in a thread of its own, for threads that are free.

A bell is acknowledged when a thread takes it, not when its step has ended. So the broker never waits for a step,
however long that takes, and a process that ends holds nothing back.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NoReturn

import structlog
from kombu import Connection, Consumer, Message, compression
from kombu import Queue as BrokerQueue

from querymill_shared.broker import QUEUE_ARGUMENTS
from querymill_shared.queues import Queue
from querymill_workers.dispatch.step_pool import StepPool
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.bell_codec import NoBell, Rung, told
from querymill_workers.listener import Listener
from querymill_workers.transport import TASK_OF, DropCounter

_log = structlog.get_logger(__name__)

#: How long the listener waits for a delivery, in seconds, before it looks after the connection.
WAIT_S = 0.5
#: While fewer threads are free than there are queues, each of these queues is listened to for so long (s) in its turn.
TURN_S = 0.02
#: A bell that finds every thread busy waits here for so long (s). Then the broker has it back, for other workers.
HOLD_S = 0.05
#: What an operator may do about a queue that nobody can use: its user may not, or another program holds it for itself.
NOT_ALLOWED = "let the worker's user configure, write and read it (rabbitmqctl set_permissions), or declare it yourself"
NOT_SHARED = "end the program that holds it for itself, or give Querymill a virtual host of its own"
#: What an operator may do about a queue that was declared otherwise.
MEND = "delete it (rabbitmqctl delete_queue {}): a worker declares it as a quorum queue, and its bells are rung again"


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
        self._consumers: dict[str, Any] = {}
        #: The queues that are listened to now, and those of this round that had nothing to deliver.
        self._open: set[str] = set()
        self._empty: set[str] = set()
        #: Whether no queue had anything to deliver when it was listened to last.
        self._is_quiet = True
        self._delivered: list[Message] = []
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
            self._consumers = self._consumers_on(self._connection)
        self._choose(self._step_pool.wait_until_free(0 if self._open else WAIT_S))
        self._connection.heartbeat_check()
        is_whole = len(self._open) == len(self._consumers)
        try:
            self._connection.drain_events(timeout=WAIT_S if is_whole else TURN_S)
        except TimeoutError:
            self._note_silence()
        while self._delivered:
            self._hear(self._delivered.pop(0))

    def hang_up(self) -> None:
        """Close the connection. What was delivered and not taken goes to other workers."""
        connection, self._connection = self._connection, None
        self._is_quiet = True
        for kept in (self._open, self._empty, self._delivered, self._consumers):
            kept.clear()
        if connection is not None:
            with suppress(Exception):
                connection.collect()

    def _choose(self, free: int) -> None:
        """Listen to all queues, or to as many as threads are free if bells were delivered a moment ago.

        Each queue delivers one bell. Those that find no thread would go back, and the broker counts how often.
        """
        names = list(self._consumers)
        turns = names if free and self._is_quiet else [name for name in names if name not in self._empty][:free]
        wanted = set(turns)
        for name in self._open - wanted:
            self._close(name)
        for name in wanted - self._open:
            self._consumers[name].consume()
            self._open.add(name)

    def _close(self, name: str) -> None:
        self._consumers[name].cancel()
        self._open.discard(name)

    def _note_silence(self) -> None:
        self._empty |= self._open
        if len(self._empty) == len(self._consumers):
            self._is_quiet = True
            self._empty.clear()

    def _consumers_on(self, connection: Connection) -> dict[str, Any]:
        usable = [queue for queue in self._queues() if queue in TASK_OF and self._declared(connection, queue)]
        if not usable:
            raise LookupError("the broker has none of the queues")
        channel: Any = connection.channel()
        channel.basic_qos(0, 1, False)  # noqa: FBT003  # the name of the last differs by transport
        return {
            queue: Consumer(
                channel, [BrokerQueue(queue)], auto_declare=False, accept=["json"],
                on_message=self._delivered.append, on_decode_error=self._refuse,
            )
            for queue in usable
        }  # fmt: skip

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
            mend = NOT_ALLOWED if "ACCESS_REFUSED" in said else NOT_SHARED
            _log.error("cannot use a queue", queue=queue, error=str(error)[:200], declaring=said, mend=mend)
            return False
        if queue not in self._foreign:
            self._foreign.add(queue)
            _log.warning(
                "a queue is used as it is: it was declared otherwise", queue=queue, error=said, mend=MEND.format(queue)
            )
        return True

    def _hear(self, message: Message) -> None:
        queue = queue_of(message)
        rung = read(message, TASK_OF[queue]) if queue in TASK_OF else NoBell.OTHER_TASK
        if isinstance(rung, NoBell):
            self._dropped.count(queue, rung)
            message.ack()
            return
        bell = Bell(rung.job_id, rung.step, Queue(queue))
        if self._step_pool.start_if_free(lambda: self._answer(bell), within_s=HOLD_S):
            self._take(message, queue)
        else:
            self._close_all()
            message.requeue()

    def _take(self, message: Message, name: str) -> None:
        """Acknowledge a bell that a thread answers now."""
        if self._step_pool.free < len(self._open):
            self._is_quiet = False
            self._empty.clear()
            if name in self._open:
                self._close(name)  # before it delivers another
            self._consumers[name] = self._consumers.pop(name)  # its next turn is the last
        message.ack()

    def _close_all(self) -> None:
        for name in tuple(self._open):
            self._close(name)
        self._is_quiet = False

    def _refuse(self, message: Message, _: Exception) -> None:
        self._dropped.count(queue_of(message), NoBell.CONDITIONS)
        message.ack()


def queue_of(message: Message) -> str:
    """Return the queue that a message was sent to."""
    return str(message.delivery_info.get("routing_key", ""))


def read(message: Message, task: str) -> Rung | NoBell:
    """Read a message of a queue of bells for one task. Never raises, whatever it holds."""
    if (message.content_type, message.content_encoding) != ("application/json", "utf-8"):
        return NoBell.NO_MESSAGE
    body = message.body.encode(errors="replace") if isinstance(message.body, str) else bytes(message.body or b"")
    return told(message.headers, body, task)


def refuse(_: bytes) -> NoReturn:
    """Decompress nothing: bells are not compressed, and other messages may grow to any size."""
    raise ValueError("compressed")
