"""Celery's consumer, reduced to receiving bells.

A message that makes Celery's own code raise ends the process, and the broker then gives it to the next worker. On Redis
the transport drops what is not a bell. On other brokers `BellConsumer` does.
"""

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from celery.worker.consumer import Consumer
from kombu import Message, compression

from querymill_workers.jobs.bell_codec import NoBell, body_of, headers_of, told
from querymill_workers.transport import TASK_OF, DropCounter

#: Workers do not talk to each other. The options of the command line that say so could be forgotten.
_ALONE: Final = {"task_events": False, "without_gossip": True, "without_mingle": True, "without_heartbeat": True}


class LoneConsumer(Consumer):
    """Listens to nothing but its queues: not to remote control, nor to the events of other workers."""

    def __init__(self, *args: Any, worker_options: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        kwargs["worker_options"] = {**(worker_options or {}), **_ALONE}
        super().__init__(*args, **kwargs)


class BellConsumer(LoneConsumer):
    """Passes bells on, and drops and counts everything else."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._dropped = DropCounter()
        # kombu decompresses a body before this class sees it. If it must not, it calls `on_decode_error`.
        for name in compression.encoders():
            compression.register(refuse, refuse, name)

    def create_task_handler(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function that Celery calls with each message."""
        handle = super().create_task_handler(*args, **kwargs)

        def handle_bell(message: Message) -> None:
            task = TASK_OF.get(queue_of(message), "")
            body = message.body.encode() if isinstance(message.body, str) else bytes(message.body or b"")
            rung = told(message.headers, body, task)
            if (message.content_type, message.content_encoding) != ("application/json", "utf-8"):
                rung = NoBell.NO_MESSAGE
            if isinstance(rung, NoBell):
                self._drop(message, rung)
            else:
                message.headers, message.body = headers_of(rung, task), body_of(rung).decode()
                handle(message)

        return handle_bell

    def on_decode_error(self, message: Message, exc: Exception) -> None:  # noqa: ARG002  # Celery's signature
        """Drop a message that kombu could not read."""
        self._drop(message, NoBell.CONDITIONS)

    def _drop(self, message: Message, reason: NoBell) -> None:
        self._dropped.count(queue_of(message), reason)
        message.reject()


def queue_of(message: Message) -> str:
    """Return the queue that a message was sent to."""
    return str(message.delivery_info.get("routing_key", ""))


def refuse(_: bytes) -> NoReturn:
    """Decompress nothing: bells are not compressed, and other messages may grow to any size."""
    raise ValueError("compressed")
