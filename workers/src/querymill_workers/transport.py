"""kombu's Redis transport, which lets only bells through and skips work that bells do not need.

An element that kombu or Celery cannot read raises in their loop and ends the process. So each element of a queue is
read here first. An element that is not a bell is dropped and counted, and never reaches them.

Bells are consumed without acknowledgement, because a lost or repeated bell does no harm. kombu keeps no record of such
a message but would still send the commands that acknowledge it. This transport does not.
"""

import time
from collections.abc import Mapping
from queue import Empty
from typing import Any

import structlog
from kombu.transport import redis
from redis.exceptions import ResponseError

from querymill_shared.board.replies import is_written_over
from querymill_shared.broker import KeptClientChannel, KeptClientTransport
from querymill_shared.queues import Queue, task_of
from querymill_workers import wiring
from querymill_workers.jobs.bell_codec import NoBell, element_of, heard

_log = structlog.get_logger(__name__)

#: Dropped elements are logged at most this often, in seconds. The counter counts each.
LOG_EVERY_S = 10.0
TASK_OF: Mapping[str, str] = {queue.value: task_of(queue) for queue in Queue}


class DropCounter:
    """Counts dropped elements and logs some of them, without their content."""

    def __init__(self) -> None:
        self._logged_at = float("-inf")

    def count(self, queue: str, reason: NoBell) -> None:
        """Count one dropped element. An unknown queue counts as "other", so that it cannot create new metrics."""
        known = queue if queue in TASK_OF else "other"
        wiring.fleet_counters().count(f"elements_dropped/{known}")
        if time.monotonic() - self._logged_at >= LOG_EVERY_S:
            self._logged_at = time.monotonic()
            _log.warning("dropped an element that is not a bell", queue=known, reason=reason.value)


def set_aside(client: Any, key: str) -> bool:
    """Rename a key that should be a queue and is no list. Return False if there is none, or another worker did so."""
    if client.type(key) in (b"list", b"none"):
        return False
    try:
        client.rename(key, f"{key}:set-aside")
    except ResponseError as error:
        if "no such key" not in str(error):
            raise
        return False
    return True


class NoLedger(redis.QoS):
    """kombu's record of unacknowledged messages. Bells are never in it."""

    def restore_visible(self, *_: Any, **__: Any) -> None:
        """Restore nothing: an unreadable entry of another program would keep every worker from starting."""


class BellChannel(KeptClientChannel):
    """A channel that lets only bells through, and acknowledges only messages that need it."""

    QoS = NoLedger

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._acknowledges = True
        self._dropped = DropCounter()
        super().__init__(*args, **kwargs)

    def basic_consume(self, queue: str, no_ack: bool, callback: Any, consumer_tag: str | None, **kwargs: Any) -> str:  # noqa: FBT001  # kombu's signature
        """Consume from a queue. All queues of a channel have the same acknowledgement mode."""
        self._acknowledges = not no_ack
        tag: str = super().basic_consume(queue, no_ack, callback, consumer_tag, **kwargs)
        return tag

    def _queue_bind(self, *_: Any) -> None:
        """Write no binding: bells are pushed to their queue by its name, and a key of another type would raise."""

    def basic_ack(self, delivery_tag: str, multiple: bool = False) -> None:  # noqa: FBT001, FBT002  # kombu's signature
        """Acknowledge a message, unless the channel consumes without acknowledgement."""
        if self._acknowledges:
            super().basic_ack(delivery_tag, multiple)

    def _create_client(self, asynchronous: bool = False) -> Any:  # noqa: FBT001, FBT002  # kombu's signature
        client = super()._create_client(asynchronous)
        if asynchronous:
            client.set_response_callback("BRPOP", self._bell_or_nothing)
        return client

    def _bell_or_nothing(self, popped: tuple[bytes, bytes] | None, **_: Any) -> tuple[bytes, bytes] | None:
        """Return a bell as it came, or None, as if nothing had come, for any other element."""
        if not popped:
            return None
        key, element = popped
        queue = key.decode().rsplit(self.sep, 1)[0]
        task = TASK_OF.get(queue)
        if task is None:
            return key, element  # Celery's own messages, such as replies of other workers
        rung = heard(element, task)
        if isinstance(rung, NoBell):
            self._dropped.count(queue, rung)
            return None
        return key, element_of(rung, queue, task)

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)  # type: ignore[misc]  # not in its stubs
        except self.ResponseError as error:
            if not is_written_over(error):
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
        """Rename the keys of a queue that are not lists, because with them no worker can start or wait for bells."""
        for priority in self.priority_steps:
            key = self._q_for_pri(queue, priority)  # type: ignore[attr-defined]  # not in its stubs
            with self.conn_or_acquire() as client:
                if set_aside(client, key):
                    self._dropped.count(queue, NoBell.NO_LIST)


class BellTransport(KeptClientTransport):
    """kombu's Redis transport with `BellChannel`."""

    Channel = BellChannel
