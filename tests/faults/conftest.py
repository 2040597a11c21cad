"""What every scenario has: a seed that is printed, and a tally that `make faults` prints as a line of JSON."""

import random
from collections.abc import Callable, Iterator

import pytest

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
    chosen: str = request.config.getoption("broker")

    def begin(scenario: str, *, broker: str = chosen, is_control: bool = False) -> Tally:
        tally = Tally(scenario, broker, seed, is_control=is_control)
        request.config.stash[TALLIES].append(tally)
        return tally

    return begin


@pytest.fixture
def ground(deployment: Deployment, broker_url: str, openai_server: object, seed: int) -> Iterator[Ground]:
    """The ground of the broker that ``--broker`` names."""
    with open_ground(deployment, seed=seed, broker_url=broker_url) as opened:
        yield opened
