"""Worker processes: the product's own heartbeat, listener, threads and sweeper, put together as `observe` does."""

import random
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, Final

import redis

from querymill_shared import bells
from querymill_shared.board import ValkeyBoard
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings
from querymill_workers.bell_consumer import BellListener
from querymill_workers.dispatch.election import Election
from querymill_workers.dispatch.ports import Ports
from querymill_workers.dispatch.step_pool import StepPool
from querymill_workers.dispatch.sweeper import Sweeper
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.heartbeat import HeartbeatThread
from querymill_workers.observe import SHUTDOWN_S
from querymill_workers.retrievers.conversations.stores.caches import conversation_caches
from querymill_workers.versions.ports import version_floor
from tests.simulation import threads
from tests.simulation.faults import Troubles
from tests.simulation.poisons import MortalHeartbeat, Poisons
from tests.simulation.scheduler import Process, Scheduler
from tests.simulation.server import KeyServer
from tests.simulation.stores import Stores

#: The methods of models that ask a provider.
_ASKING: Final = ("embed", "rewrite", "judge", "rank", "answer", "expand", "describe")


class Worker:
    """One worker process."""

    def __init__(
        self, name: str, scheduler: Scheduler, server: KeyServer, stores: Stores, troubles: Troubles,
        settings: Settings, slots: int, poisons: Poisons, unknown: str = "",
    ) -> None:  # fmt: skip
        self.process = Process(
            name,
            clock_ahead=random.randrange(-50_000, 50_000),
            monotonic_ahead=random.randrange(10**9),
            unknown=unknown,
        )
        self._server = server
        self._stores = stores
        self._troubles = troubles
        self._settings = settings
        self._slots = slots
        self._poisons = poisons
        scheduler.spawn(self.process, self._begin, "main", after=random.randrange(20_000))

    def _open(self, *, decode: bool) -> redis.Redis:
        return self._server.open(self.process, self._troubles.at_board, decode=decode)

    def _begin(self) -> None:
        client = self._open(decode=True)
        stored: list[Ports] = []

        def largest_stored(at_least_us: int) -> int:
            return version_floor(stored[0].versions, stored[0].conversations, at_least_us)

        board = ValkeyBoard(client, self._settings, on_end=_quiet, largest_stored=largest_stored)
        heartbeat = MortalHeartbeat(
            board, name=self.process.name, lease_s=self._settings.querymill_lease_s,
            begin=lambda claim: self._poisons.begin(self.process, claim),
        )  # fmt: skip
        heartbeat.begin()
        raw = self._stores.look()
        models = {
            name: ProviderPort(getattr(raw, name), name, self._at_provider)
            for name in ("embeddings", "rewriter", "judge", "answers")
        }
        ports = self._stores.ports_of(
            board, lambda what: self._troubles.at_store(self.process, what), heartbeat=heartbeat,
            clock=threads.monotonic, conversation_caches=conversation_caches(), **models,
        )  # fmt: skip
        stored.append(ports)
        self._serve(ports, board, heartbeat)

    def _serve(self, ports: Ports, board: ValkeyBoard, heartbeat: HeartbeatThread) -> None:
        pool, bell_client = StepPool(), self._open(decode=False)
        pool.widen(self._slots)

        def ring(bell: Bell) -> None:
            with suppress(redis.RedisError):  # the sweeper rings it later
                bell_client.lpush(bell.queue.value, bells.message(bell.queue, bell.job_id, bell.step))

        def ring_all(rung: Iterable[Bell]) -> None:
            for bell in rung:
                ring(bell)

        sweeper = Sweeper(ports, ring=ring, elect=Election(board, heartbeat.life).shards, name=heartbeat.life)
        sweeper.start()
        listener = BellListener(
            lambda: self._open(decode=False), lambda: list(Queue), pool,
            lambda bell: pool.answer(bell, ports, ring_all), board.collections_of,
        )  # fmt: skip
        listener.start()
        heartbeat.describe(queues=list(Queue), slots=self._slots, count_busy=lambda: pool.busy)

        def put_back() -> None:
            with suppress(redis.RedisError):
                heartbeat.end()

        self.process.on_stop += [
            sweeper.stop, listener.stop, partial(pool.dismiss, within_s=SHUTDOWN_S), put_back,
        ]  # fmt: skip

    def _at_provider(self, what: str) -> None:
        self._troubles.at_provider(self.process, what)


class ProviderPort:
    """A port to a model, whose calls may fail."""

    def __init__(self, target: Any, name: str, point: Callable[[str], None]) -> None:
        self._target = target
        self._name = name
        self._point = point

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not callable(found) or not name.startswith(_ASKING):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self._point(f"{self._name}.{name}")
            return found(*args, **kwargs)

        return call


def _quiet(_: object) -> None:
    """Log no end of a job."""
