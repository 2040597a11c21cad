"""Every fault with the shipped settings: ``python -m tests.faults``; a JSON line for each scenario and each broker.

``QUERYMILL_FAULT_SEED=N`` repeats the chances of an earlier run. Other arguments are pytest's.
"""

import sys

import pytest

from tests.fakes.rabbit import rabbitmq_server
from tests.fixtures.tallies import TALLIES, Tally, summary


class Summing:
    """Takes the tallies of a run."""

    def __init__(self) -> None:
        self.tallies: list[Tally] = []

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Called by pytest when all is done."""
        self.tallies = config.stash.get(TALLIES, [])


def main() -> int:
    """Run the tests of this folder, the long ones too; returns pytest's exit code."""
    summing = Summing()
    code = pytest.main(["tests/faults", "-m", "", "--hypothesis-profile=thorough", *sys.argv[1:]], plugins=[summing])
    if rabbitmq_server() is None:
        print("RabbitMQ was not tried: no rabbitmq-server is installed", flush=True)
    for broker in dict.fromkeys(tally.broker for tally in summing.tallies):
        print(summary(broker, summing.tallies), flush=True)
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
