"""What waits: how many bells each queue holds, and since when the oldest has been there.

The queues are Redis lists on the broker, which kombu fills on the left and workers empty on the right. On another
broker, such as RabbitMQ, nothing is known of them.
"""

import base64
import json
from collections.abc import Sequence
from typing import Any, Self

import redis
from redis.client import NEVER_DECODE

from querymill_shared import counters
from querymill_shared.board import clock, keys
from querymill_shared.board.connections import open_commands
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings
from querymill_shared.urls import has_alternates
from querymill_shared.values import value

#: Longer elements are no bells.
MAX_BELL_BYTES = 8_192


@value
class QueueState:
    """The bells of a queue: how many there are, and since when the oldest has waited.

    ``rung_at`` is in seconds since the epoch by the board's clock, and ``oldest_s`` in seconds. They are None if there
    is no bell, or if the board does not know the job of the oldest. ``taken`` counts the bells that workers took from
    the queue so far; each worker adds its own about once a second.
    """

    queue: Queue
    length: int
    rung_at: float | None = None
    oldest_s: float | None = None
    taken: float = 0.0


def taken_from(queue: str) -> str:
    """Return the name of the counter of bells that workers took from a queue."""
    return f"bells_taken/{queue}"


class Backlog:
    """Reads the state of every queue, from the broker's lists and the board's record of each oldest bell."""

    def __init__(self, board: redis.Redis, broker: redis.Redis) -> None:
        self._board = board
        self._broker = broker

    @classmethod
    def connect(cls, settings: Settings, board: redis.Redis) -> Self | None:
        """Open the queues of the settings' broker. Return None if they are not Redis lists."""
        if settings.broker_url == settings.redis_url:
            return cls(board, board)
        try:
            # Several addresses separated by semicolons are for Celery alone.
            return None if has_alternates(settings.broker_url) else cls(board, open_commands(settings.broker_url))
        except ValueError:
            return None

    def look(self) -> Sequence[QueueState]:
        """Return the state of every queue, in two round trips.

        Raises:
            redis.RedisError: A server does not answer.
        """
        pipeline: Any = self._broker.pipeline(transaction=False)
        for queue in Queue:
            pipeline.llen(queue.value)
            pipeline.execute_command("LINDEX", queue.value, -1, **{NEVER_DECODE: True})
        returned = pipeline.execute(raise_on_error=False)
        lengths = [found if isinstance(found, int) else 0 for found in returned[::2]]
        oldest = [_named_by(element) for element in returned[1::2]]
        now, rung, taken = self._on_the_board(oldest)
        return [
            QueueState(queue, length, at, None if at is None else max(0.0, now - at), sofar)
            for queue, length, at, sofar in zip(Queue, lengths, rung, taken, strict=True)
        ]

    def _on_the_board(self, oldest: Sequence[tuple[str, str]]) -> tuple[float, list[float | None], list[float]]:
        """Return the time, when the bell of each job and step was rung, and how many bells were taken."""
        pipeline: Any = self._board.pipeline(transaction=False)
        for queue, (job_id, step) in zip(Queue, oldest, strict=True):
            job, steps, rings = keys.of_job(job_id, "job", "steps", "rings")
            pipeline.execute_command("HGET", job, "created", **{NEVER_DECODE: True})
            pipeline.execute_command("HGET", steps, f"{step}.attempt", **{NEVER_DECODE: True})
            # See `note_bell` in prelude.lua.
            pipeline.execute_command("HMGET", rings, f"^{queue}", f"@{step}", **{NEVER_DECODE: True})
        taken: Any = ("HMGET", counters.KEY, *(taken_from(queue) for queue in Queue))
        pipeline.execute_command(*taken, **{NEVER_DECODE: True})
        clock.ask(pipeline)
        *read, counts, server, noted = pipeline.execute(raise_on_error=False)
        rung = [_rung_at(*read[place : place + 3]) for place in range(0, len(read), 3)]
        taken_sofar = [float(count or 0) for count in counts] if isinstance(counts, list) else [0.0] * len(Queue)
        return clock.board_s(server, noted), rung, taken_sofar


def _named_by(element: object) -> tuple[str, str]:
    """Return the job and the step that a bell names, or empty names if the element is not a bell."""
    if not isinstance(element, bytes) or len(element) > MAX_BELL_BYTES:
        return "", ""
    try:
        (job_id, step), *_ = json.loads(base64.b64decode(json.loads(element)["body"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return "", ""
    is_bell = isinstance(job_id, str) and job_id.isalnum() and isinstance(step, str) and step.isprintable()
    return (job_id, step) if is_bell else ("", "")


def _rung_at(created: object, attempt: object, rings: object) -> float | None:
    """Return when the oldest bell for a step was rung: its job's first, unless the step was tried since."""
    first, again = rings if isinstance(rings, list) else (None, None)
    times = (again, created) if attempt not in (None, b"0") else (first, created)
    known = [int(time) / 1000 for time in times if isinstance(time, bytes) and time.isdigit()]
    return known[0] if known else None
