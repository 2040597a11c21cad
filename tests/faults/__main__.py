"""Every fault with the shipped settings: ``python -m tests.faults``; a JSON line for each scenario and each broker.

``QUERYMILL_FAULT_SEED=N`` repeats the chances of an earlier run. Other arguments are pytest's: ``--broker rabbitmq``.
"""

import sys

import pytest

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
    for broker in dict.fromkeys(tally.broker for tally in summing.tallies):
        print(summary(broker, summing.tallies), flush=True)
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
