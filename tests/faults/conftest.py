"""What every scenario has: a seed that is printed, and a tally that `make faults` prints as a line of JSON."""

import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from tests.fakes.rabbit import rabbit, rabbitmq_server
from tests.fixtures.deployment import Deployment
from tests.fixtures.faults import Ground, open_ground
from tests.fixtures.own_services import SEED, SEED_VARIABLE
from tests.fixtures.tallies import TALLIES, Tally


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TALLIES] = []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for tally in config.stash[TALLIES]:
        terminalreporter.write_line(tally.line())


@pytest.fixture(scope="session")
def seed() -> int:
    chosen = int(SEED or random.SystemRandom().randrange(1_000_000))
    print(f"{SEED_VARIABLE}={chosen}")
    return chosen


@pytest.fixture
def tally_of(request: pytest.FixtureRequest, seed: int) -> Callable[..., Tally]:
    """Begin to count a scenario."""

    def begin(scenario: str, *, broker: str = "valkey", is_control: bool = False) -> Tally:
        tally = Tally(scenario, broker, seed, is_control=is_control)
        request.config.stash[TALLIES].append(tally)
        return tally

    return begin


@pytest.fixture(scope="session")
def rabbit_url() -> Iterator[str]:
    if rabbitmq_server() is None:
        pytest.skip("no rabbitmq-server is installed")
    with rabbit() as url:
        yield url


@pytest.fixture
def ground_of(
    request: pytest.FixtureRequest, deployment: Deployment, openai_server: object, seed: int
) -> Callable[[str], AbstractContextManager[Ground]]:
    """The ground of a broker: "valkey" or "rabbitmq"."""

    def opened(broker: str) -> AbstractContextManager[Ground]:
        url = request.getfixturevalue("rabbit_url") if broker == "rabbitmq" else ""
        return open_ground(deployment, seed=seed, broker_url=url)

    return opened


@pytest.fixture
def ground(ground_of: Callable[[str], AbstractContextManager[Ground]]) -> Iterator[Ground]:
    with ground_of("valkey") as opened:
        yield opened
