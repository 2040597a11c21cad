"""Every fault with the shipped settings: ``python -m tests.faults``; a JSON line for each scenario and each broker.

``python -m tests.faults table`` runs the lines of the fault table instead, and writes the page beside this file;
``python -m tests.faults soak`` lets a fleet work for an hour under faults, and writes what it held.

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


def table() -> int:
    """Run the lines of the fault table."""
    # Imported here: the tests need none of it.
    from tests.faults.table.command import main as run_table

    return run_table(sys.argv[2:])


def soak() -> int:
    """Let a fleet work for long."""
    from tests.faults.soak.command import main as run_soak

    return run_soak(sys.argv[2:])


def explain() -> int:
    """Say what there is."""
    print(__doc__)
    return 0


COMMANDS = {"table": table, "soak": soak, "--help": explain, "-h": explain}

if __name__ == "__main__":
    sys.exit(COMMANDS.get("".join(sys.argv[1:2]), main)())
