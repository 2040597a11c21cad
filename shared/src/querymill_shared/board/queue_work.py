"""What waits and what runs on each queue: steps, as the board has them. A queue's bells tell neither.

A bell may stand for many steps, for none, or be lost, and a broker may not show its bells at all. The scripts note
where each step stands in the transaction that moves it, so the figures are the same on every broker, and without a
worker.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
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
    counts for each. ``free`` is how many of the threads ran nothing when their process was last heard of. ``claimed``
    counts the steps that workers took so far, again at each attempt. ``spare`` threads are kept for collections that
    have few steps under way.
    """

    queue: Queue
    waiting: int
    running: int
    slots: int
    oldest_s: float | None = None
    free: int = 0
    claimed: int = 0
    spare: int = 0


def queue_work(shard: str) -> ScriptCall[list[tuple[int, int, int, int]]]:
    """Return of each queue a shard's steps that wait and run, the ms that the oldest waits, or -1, and the claims."""
    start = keys.prefix(shard)
    sets = [f"{start}{place}:{queue}" for queue in Queue for place in ("waiting", "running")]

    def parse(returned: Sequence[int]) -> list[tuple[int, int, int, int]]:
        waiting, running, ages_ms, claimed = (returned[place::4] for place in range(4))
        return list(zip(waiting, running, ages_ms, claimed, strict=True))

    return ScriptCall("queue_work", [start + "counts", *sets], [start, *Queue], parse)


def read_work(client: redis.Redis, alive: Iterable[WorkerLife]) -> list[QueueWork]:
    """Return the work of every queue, as any client of the board's server reads it, for the worker processes given."""
    asked = [queue_work(shard) for shard in keys.SHARDS]
    try:
        returned = _run(client, asked)
    except NoScriptError:
        client.script_load(source(asked[0].script))
        returned = _run(client, asked)
    shards = [call.parse(reply) for call, reply in zip(asked, returned, strict=True)]
    alive = list(alive)
    slots, free, spare = lives.slots(alive), lives.free(alive), lives.spare(alive)
    return [
        replace(_joined(queue, of_queue, slots[queue], free[queue]), spare=spare[queue])
        for queue, of_queue in zip(Queue, zip(*shards, strict=True), strict=True)
    ]


def _run(client: redis.Redis, asked: Sequence[ScriptCall[Any]]) -> list[Any]:
    pipeline = client.pipeline(transaction=False)
    for call in asked:
        pipeline.execute_command(*command_of(call))  # type: ignore[no-untyped-call]
    return pipeline.execute()


def _joined(queue: Queue, shards: Sequence[tuple[int, int, int, int]], slots: int, free: int) -> QueueWork:
    waiting, running, ages_ms, claimed = zip(*shards, strict=True)
    oldest_s = max(ages_ms) / 1000 if sum(waiting) else None
    return QueueWork(queue, sum(waiting), sum(running), slots, oldest_s, free, sum(claimed))
