"""Fetch bells from Redis in a thread of its own: several at once, blocking, only for threads that are free.

Other brokers deliver theirs to `delivery_listener.py`, and Celery's loop carries those of other pools: see ADR 9.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import redis
import structlog

from querymill_shared.board.board_client import cluster_of
from querymill_shared.board.connections import run_command, run_commands
from querymill_shared.board.replies import is_written_over
from querymill_shared.queues import Queue
from querymill_workers.dispatch.step_pool import StepPool
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.bell_codec import NoBell, Rung, heard
from querymill_workers.listener import RETRY_S, Listener
from querymill_workers.transport import TASK_OF, DropCounter, set_aside

_log = structlog.get_logger(__name__)

#: How long the server holds a fetch, in seconds. Only then does it notice a key that is no list any more.
WAIT_S = 2.0
#: The board on a cluster is asked for bells this often, in seconds: it has some only while the broker is away.
CLUSTER_LOOK_S = 0.25
#: Bells fetched at once. With more, one worker would take what others have threads for.
BELLS_AT_ONCE = 8
#: While bells wait for threads, this often (s) so many of the oldest and of the newest of a queue are looked through,
#: for those of collections that hold hardly any thread. A new bell is seen before a flood has buried it.
LOOK_PAST_S, LOOK_PAST, LOOK_BACK = 0.05, 64, 64


class BellListener(Listener):
    """Hands each bell of some queues to the pool of threads."""

    def __init__(
        self, connect: Callable[[], redis.Redis], queues: Callable[[], Iterable[str]], step_pool: StepPool,
        answer: Callable[[Bell], None], collections_of: Callable[[Sequence[str]], Sequence[str]],
        *, source: str = "broker",
    ) -> None:  # fmt: skip
        super().__init__()
        self.source = source
        self._connect = connect
        self._queues = queues
        self._step_pool = step_pool
        self._answer = answer
        self._collections_of = collections_of
        self._dropped = DropCounter()
        self._client: redis.Redis | None = None
        self._pops_several = True
        self._last = ""
        #: Whether the last fetch found as many bells as it asked for, and when bells were looked through last.
        self._bells_wait = False
        self._looked_at = 0.0

    def listen(self) -> None:
        """Fetch bells for the threads that are free."""
        self._client = self._client or self._connect()
        self._listen(self._client)

    def hang_up(self) -> None:
        """Drop the connection: an address that leads to several servers is looked up again."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(redis.RedisError):
                client.close()

    def _listen(self, client: redis.Redis) -> None:
        free = self._step_pool.wait_until_free(LOOK_PAST_S if self._step_pool.spare else WAIT_S)
        queues = [queue for queue in self._queues() if queue in TASK_OF]
        if not queues:
            time.sleep(RETRY_S)
            return
        if self._step_pool.spare and (self._bells_wait or not free):
            self._look_past_all(client, queues)
        if not free:
            return
        # The queue that was served last comes last, so that none waits behind another for ever.
        queues.sort(key=lambda queue: queue == self._last)
        try:
            queue, elements = self._pop(client, queues, min(free, BELLS_AT_ONCE))
        except redis.ResponseError as error:
            self._make_good(client, queues, error)
            return
        self._bells_wait = len(elements) == min(free, BELLS_AT_ONCE)
        self._last = queue or self._last
        for place, element in enumerate(elements):
            if not self._hear(queue, element):
                # The threads that were free have gone to the other listener. The oldest bell is fetched first again.
                run_command(client, ("RPUSH", queue, *reversed(elements[place:])))
                return

    def _pop(self, client: redis.Redis, queues: list[str], most: int) -> tuple[str, list[bytes]]:
        if cluster_of(client) is not None:
            return self._pop_on_cluster(client, queues, most)
        if self._pops_several:
            popped = run_command(client, ("BLMPOP", WAIT_S, len(queues), *queues, "RIGHT", "COUNT", most))
            return (popped[0].decode(), popped[1]) if popped else ("", [])
        single: Any = client.brpop(queues, timeout=WAIT_S)
        return (single[0].decode(), [single[1]]) if single else ("", [])

    @staticmethod
    def _pop_on_cluster(client: redis.Redis, queues: list[str], most: int) -> tuple[str, list[bytes]]:
        """Pop from the first queue that has bells. No command of a cluster waits for several queues at once."""
        lengths = run_commands(client, [("LLEN", queue) for queue in queues])
        # A key that is no list keeps nobody from the other queues: it cannot be renamed into another slot.
        queue = next(
            (queue for queue, length in zip(queues, lengths, strict=True) if isinstance(length, int) and length), ""
        )
        if not queue:
            time.sleep(CLUSTER_LOOK_S)
            return "", []
        return queue, run_command(client, ("RPOP", queue, most)) or []

    def _look_past_all(self, client: redis.Redis, queues: Iterable[str]) -> None:
        if time.monotonic() - self._looked_at >= LOOK_PAST_S:
            for queue in queues:
                self._look_past(client, queue)
            self._looked_at = time.monotonic()

    def _look_past(self, client: redis.Redis, queue: str) -> None:
        """Hear the bells of collections that hold hardly any thread, although older bells of others wait.

        Bells are fetched in order, so the flood of one collection would keep everybody else's waiting in the queue.
        """
        with suppress(redis.ResponseError):  # no list: the next fetch sets it aside
            oldest: Any = client.lrange(queue, -LOOK_PAST, -1)
            newest: Any = client.lrange(queue, 0, LOOK_BACK - 1) if len(oldest) == LOOK_PAST else []
            rung = {
                element: bell
                for element in (*oldest[::-1], *newest[::-1])
                if isinstance(bell := heard(element, TASK_OF[queue]), Rung)
            }
            collections = self._collections_of([bell.job_id for bell in rung.values()])
            let_past: Counter[str] = Counter()
            for element, collection in zip(rung, collections, strict=True):
                if self._step_pool.spare_slots_of(collection) > let_past[collection] and client.lrem(
                    queue, -1, element
                ):
                    let_past[collection] += 1
                    self._hear(queue, element, beyond=True)

    def _make_good(self, client: redis.Redis, queues: list[str], error: redis.ResponseError) -> None:
        """Set aside what is no queue. A server before Redis 7 pops one bell at a time."""
        if is_written_over(error):
            for queue in queues:
                if set_aside(client, queue):
                    self._dropped.count(queue, NoBell.NO_LIST)
        elif self._pops_several:
            self._pops_several = False
            _log.warning("the broker has no BLMPOP, so bells are fetched one by one", error=str(error)[:80])
        else:
            raise error

    def _hear(self, queue: str, element: bytes, *, beyond: bool = False) -> bool:
        """Have a thread answer a bell: a free one, or one ``beyond`` them. Return False if none is free."""
        rung = heard(element, TASK_OF[queue])
        if isinstance(rung, NoBell):
            self._dropped.count(queue, rung)
            return True
        bell = Bell(rung.job_id, rung.step, Queue(queue))
        if beyond:
            self._step_pool.start(lambda: self._answer(bell))
        elif not self._step_pool.start_if_free(lambda: self._answer(bell)):
            return False
        return True
