"""What waits and what runs on each queue: steps, as the board has them. A queue's bells tell neither.

A bell may stand for many steps, for none, or be lost, and a broker may not show its bells at all. The scripts note
where each step stands in the transaction that moves it, so the figures are the same on every broker, and without a
worker.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import redis
from redis.exceptions import NoScriptError

from querymill_shared.board import keys, lives
from querymill_shared.board.calls import ScriptCall
from querymill_shared.board.picture import WorkerLife
from querymill_shared.board.scripts import command_of, source
from querymill_shared.queues import Queue
from querymill_shared.values import value


@value
class QueueWork:
    """The steps of a queue that wait and that run, and the threads of living workers that serve it.

    ``oldest_s`` is for how long the oldest step has waited, None if none waits. A thread that serves several queues
    counts for each.
    """

    queue: Queue
    waiting: int
    running: int
    slots: int
    oldest_s: float | None = None


def queue_work(shard: str) -> ScriptCall[list[tuple[int, int, int]]]:
    """Return of each queue how many steps of a shard wait and run, and for how many ms the oldest waits, or -1."""
    start = keys.prefix(shard)
    sets = [f"{start}{place}:{queue}" for queue in Queue for place in ("waiting", "running")]

    def parse(returned: Sequence[int]) -> list[tuple[int, int, int]]:
        return [(returned[at], returned[at + 1], returned[at + 2]) for at in range(0, len(returned), 3)]

    return ScriptCall("queue_work", sets, [start], parse)


def read_work(client: redis.Redis, alive: Iterable[WorkerLife]) -> list[QueueWork]:
    """Return the work of every queue, as any client of the board's server reads it, for the worker processes given."""
    asked = [queue_work(shard) for shard in keys.SHARDS]
    try:
        returned = _run(client, asked)
    except NoScriptError:
        client.script_load(source(asked[0].script))
        returned = _run(client, asked)
    shards = [call.parse(reply) for call, reply in zip(asked, returned, strict=True)]
    slots = lives.slots(alive)
    return [
        _joined(queue, of_queue, slots[queue]) for queue, of_queue in zip(Queue, zip(*shards, strict=True), strict=True)
    ]


def _run(client: redis.Redis, asked: Sequence[ScriptCall[Any]]) -> list[Any]:
    pipeline = client.pipeline(transaction=False)
    for call in asked:
        pipeline.execute_command(*command_of(call))  # type: ignore[no-untyped-call]
    return pipeline.execute()


def _joined(queue: Queue, shards: Sequence[tuple[int, int, int]], slots: int) -> QueueWork:
    oldest_ms = max(ms for _, _, ms in shards)
    waiting, running = sum(some for some, _, _ in shards), sum(some for _, some, _ in shards)
    return QueueWork(queue, waiting, running, slots, oldest_ms / 1000 if waiting else None)
