"""kombu's Redis transport, spared the work that doorbells do not need.

A bell may be lost or doubled (the board knows), so it is consumed without acknowledgement. kombu keeps no
record of such a message, but pays for acknowledging it all the same, and makes a new client for each of its
commands: together half of the interpreter's time of a busy worker. Both end here.
"""

from typing import Any

from kombu.transport import redis


class BellChannel(redis.Channel):
    """A channel that acknowledges only what it must, and keeps its client."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._kept_client: Any = None
        self._acknowledges = True

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
        if asynchronous:
            return super()._create_client(asynchronous=True)  # type: ignore[misc]  # not in its stubs
        # A pool is replaced when its connections broke, and its client with it.
        if self._kept_client is None or self._kept_client.connection_pool is not self.pool:
            self._kept_client = super()._create_client()  # type: ignore[misc]  # not in its stubs
        return self._kept_client


class BellTransport(redis.Transport):
    """The transport of `BellChannel`."""

    Channel = BellChannel
