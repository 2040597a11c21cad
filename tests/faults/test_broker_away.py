"""The broker is killed or hangs under load: searches are answered as before, and nothing is lost or done twice."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count

import pytest

from tests.fakes.lists import Lists, lists
from tests.fakes.rabbit import Rabbit, rabbit
from tests.fixtures.deployment import Deployment
from tests.fixtures.faults import Ground, open_ground
from tests.fixtures.tallies import Tally, until

Broker = Lists | Rabbit
BROKERS: dict[str, Callable[[], AbstractContextManager[Broker]]] = {"valkey": lists, "rabbitmq": rabbit}
#: A search that is submitted while the broker is away has its result within this long, in seconds.
P95_S = 2.0
EVERY_S = 0.25


@pytest.fixture(scope="module", params=["valkey", pytest.param("rabbitmq", marks=pytest.mark.nightly)])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A broker apart from the board, for this file to kill."""
    with BROKERS[request.param]() as server:
        yield server


@pytest.fixture
def ground(
    broker: Broker, deployment: Deployment, openai_server: object, seed: int, request: pytest.FixtureRequest
) -> Iterator[Ground]:
    with open_ground(deployment, seed=seed, broker_url=broker.url()) as opened:
        yield opened


def name_of(broker: Broker) -> str:
    return "rabbitmq" if isinstance(broker, Rabbit) else "valkey"


class Asking:
    """Searches again and again, and ingests, until told to stop."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self.took_s: list[float] = []
        self._failed: list[Exception] = []

    def ask(self, *, for_s: float) -> None:
        """Submit for a time; then wait for the results."""
        end = time.monotonic() + for_s
        callers = []
        for number in count():
            if number % 4 == 0:
                self._ground.ingest_report()
            begun = time.monotonic()
            job_id = self._ground.search(deadline=20)
            caller = threading.Thread(target=self._await, args=(job_id, begun))
            caller.start()
            callers.append(caller)
            if time.monotonic() >= end:
                break
            time.sleep(EVERY_S)
        for caller in callers:
            caller.join()
        assert not self._failed

    def _await(self, job_id: str, begun: float) -> None:
        try:
            result = self._ground.mill.job(job_id).result(timeout=30)
            assert not [part for part in result.degraded if part.code != "pending"]
        except Exception as error:  # noqa: BLE001  # told by the thread of the test
            self._failed.append(error)
        self.took_s.append(time.monotonic() - begun)

    @property
    def p95_s(self) -> float:
        """The nearest rank."""
        return sorted(self.took_s)[-(-len(self.took_s) * 95 // 100) - 1]


@contextmanager
def gone(broker: Broker, *, frozen: bool) -> Iterator[None]:
    """Kill a broker, or let it hang; then bring it back."""
    broker.freeze() if frozen else broker.kill()
    try:
        yield
    finally:
        broker.thaw() if frozen else broker.start()


def go_through(ground: Ground, broker: Broker, tally: Tally, *, frozen: bool, away_s: float) -> None:
    with ground.fleet(2):
        ground.mill.job(ground.ingest_report()).result(timeout=30)
        until(ground.answers, within_s=30)
        processes = [worker.process for worker in ground.workers]
        for _ in range(10):
            ground.ingest_report()
            ground.ingest_session()
        asking = Asking(ground)
        with gone(broker, frozen=frozen):
            asking.ask(for_s=away_s)
        back = ground.now()
        # The fleet goes back to bells, and the board keeps none.
        until(lambda: all("bells are fetched again" in worker.log for worker in ground.workers), within_s=60)
        until(lambda: rings_on(broker, ground), within_s=30)
        after = Asking(ground)
        after.ask(for_s=1)
        tally.recovery_s = max(0.0, ground.settle(tally, within_s=60) - back)
        assert [worker.process for worker in ground.workers] == processes
        assert all(worker.is_alive for worker in ground.workers)
    assert (tally.lost, tally.doubled, tally.dead_lettered) == (0, 0, 0), tally.losses
    assert asking.p95_s <= P95_S, sorted(asking.took_s)


def rings_on(broker: Broker, ground: Ground) -> bool:
    """Whether the bell of a new search comes by the broker: nobody rings on the board for it."""
    before = board_pushes(ground)
    assert ground.answers(lacking=("pending",))
    return board_pushes(ground) == before


def board_pushes(ground: Ground) -> int:
    stats = ground.client.info("commandstats")
    return int(stats.get("cmdstat_lpush", {}).get("calls", 0))


@pytest.mark.nightly  # by day: bells that are lost, in tests/simulation
def test_a_broker_that_is_killed_under_load_costs_searches_nothing(
    ground: Ground, broker: Broker, tally_of: Callable[..., Tally]
) -> None:
    go_through(ground, broker, tally_of("broker killed", broker=name_of(broker)), frozen=False, away_s=3)


@pytest.mark.nightly
def test_a_broker_that_hangs_under_load_costs_searches_nothing(
    ground: Ground, broker: Broker, tally_of: Callable[..., Tally]
) -> None:
    go_through(ground, broker, tally_of("broker frozen", broker=name_of(broker)), frozen=True, away_s=30)


@pytest.mark.nightly
def test_a_broker_that_is_away_for_a_minute_costs_searches_nothing(
    ground: Ground, broker: Broker, tally_of: Callable[..., Tally]
) -> None:
    go_through(ground, broker, tally_of("broker away for a minute", broker=name_of(broker)), frozen=False, away_s=60)


@pytest.mark.nightly
def test_a_rabbit_that_takes_no_message_costs_searches_nothing(
    deployment: Deployment, openai_server: object, seed: int, tally_of: Callable[..., Tally]
) -> None:
    """Its memory is used up, so it blocks those who publish, and goes on to deliver."""
    tally = tally_of("broker blocks publishers", broker="rabbitmq")
    with rabbit() as server, open_ground(deployment, seed=seed, broker_url=server.url()) as ground, ground.fleet(2):
        ground.mill.job(ground.ingest_report()).result(timeout=30)
        until(ground.answers, within_s=30)
        asking = Asking(ground)
        server.ask("set_vm_memory_high_watermark", "0.0001")
        asking.ask(for_s=20)
        server.ask("set_vm_memory_high_watermark", "0.4")
        until(lambda: rings_on(server, ground), within_s=30)
        ground.settle(tally, within_s=60)
        assert all(worker.is_alive for worker in ground.workers)
    assert (tally.lost, tally.doubled, tally.dead_lettered) == (0, 0, 0), tally.losses
    assert asking.p95_s <= P95_S, sorted(asking.took_s)


@pytest.mark.nightly
def test_a_fleet_that_starts_while_its_broker_is_away_answers(ground: Ground, broker: Broker) -> None:
    with gone(broker, frozen=False), ground.fleet(1):
        ground.mill.job(ground.ingest_report()).result(timeout=30)
        until(ground.answers, within_s=30)
