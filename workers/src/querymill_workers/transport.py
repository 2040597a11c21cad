"""kombu's Redis transport: only bells come through it, and it is spared the work that they do not need.

What kombu or Celery cannot read raises in their loop and ends the process. So each element of a queue is read here
first; what is no bell is dropped and counted, and never reaches them.

A bell may be lost or doubled (the board knows), so it is consumed without acknowledgement. kombu keeps no
record of such a message, but pays for acknowledging it all the same; that ends here.
"""

import time
from collections.abc import Mapping
from queue import Empty
from typing import Any

import structlog
from kombu.transport import redis

from querymill_shared.broker import KeptClientChannel
from querymill_shared.queues import Queue, task_of
from querymill_workers import wiring
from querymill_workers.jobs.elements import NoBell, element_of, heard

_log = structlog.get_logger(__name__)

#: Who drops much says so in the log this often, in seconds; the meter counts each.
NAMED_EVERY_S = 10.0
TASK_OF: Mapping[str, str] = {queue.value: task_of(queue) for queue in Queue}


class Dropped:
    """Counts what was dropped, and names some of it in the log, never what it held."""

    def __init__(self) -> None:
        self._named_at = float("-inf")

    def count(self, queue: str, reason: NoBell) -> None:
        """Count one; what strangers call a queue becomes no name of a figure."""
        known = queue if queue in TASK_OF else "other"
        wiring.meters().count(f"elements_dropped/{known}")
        if time.monotonic() - self._named_at >= NAMED_EVERY_S:
            self._named_at = time.monotonic()
            _log.warning("dropped what is no bell", queue=known, reason=reason.value)


class NoLedger(redis.QoS):
    """kombu's record of messages that wait for their acknowledgement, in which no bell is noted down."""

    def restore_visible(self, *_: Any, **__: Any) -> None:
        """Leave alone what others wrote there: an entry that cannot be read would let no worker start."""


class BellChannel(KeptClientChannel):
    """A channel through which only bells come, and that acknowledges only what it must."""

    QoS = NoLedger

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._acknowledges = True
        self._dropped = Dropped()
        super().__init__(*args, **kwargs)

    def basic_consume(self, queue: str, no_ack: bool, callback: Any, consumer_tag: str | None, **kwargs: Any) -> str:  # noqa: FBT001  # kombu's signature
        """Consume from a queue; all queues of a channel are consumed alike."""
        self._acknowledges = not no_ack
        tag: str = super().basic_consume(queue, no_ack, callback, consumer_tag, **kwargs)
        return tag

    def basic_ack(self, delivery_tag: str, multiple: bool = False) -> None:  # noqa: FBT001, FBT002  # kombu's signature
        """Acknowledge a message, if it was noted down at all."""
        if self._acknowledges:
            super().basic_ack(delivery_tag, multiple)

    def _create_client(self, asynchronous: bool = False) -> Any:  # noqa: FBT001, FBT002  # kombu's signature
        client = super()._create_client(asynchronous)
        if asynchronous:
            client.set_response_callback("BRPOP", self._bell_or_nothing)
        return client

    def _bell_or_nothing(self, popped: tuple[bytes, bytes] | None, **_: Any) -> tuple[bytes, bytes] | None:
        """Hand a bell on; for anything else say what Redis says when nothing came in time."""
        if not popped:
            return None
        key, element = popped
        queue = key.decode().rsplit(self.sep, 1)[0]
        task = TASK_OF.get(queue)
        if task is None:
            return key, element  # Celery's own, such as answers of other workers
        rung = heard(element, task)
        if isinstance(rung, NoBell):
            self._dropped.count(queue, rung)
            return None
        return key, element_of(rung, queue, task)

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)  # type: ignore[misc]  # not in its stubs
        except self.ResponseError as error:
            if not str(error).startswith("WRONGTYPE"):
                raise
            for queue in self.active_queues:
                self._set_aside(queue)
            raise Empty from None

    def _size(self, queue: str) -> int:
        try:
            return super()._size(queue)
        except self.ResponseError:
            self._set_aside(queue)
            return super()._size(queue)

    def _set_aside(self, queue: str) -> None:
        """Rename the keys of a queue that are no lists: no worker could wait for a bell, or start, beside them."""
        for priority in self.priority_steps:
            key = self._q_for_pri(queue, priority)  # type: ignore[attr-defined]  # not in its stubs
            with self.conn_or_acquire() as client:
                if client.type(key) in (b"list", b"none"):
                    continue
                try:
                    client.rename(key, f"{key}:set-aside")
                except self.ResponseError as error:
                    if "no such key" not in str(error):
                        raise
                    continue  # another worker was first
            self._dropped.count(queue, NoBell.NO_LIST)


class BellTransport(redis.Transport):
    """The transport of `BellChannel`."""

    Channel = BellChannel
