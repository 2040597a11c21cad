"""The command: let a fleet work for long, and write the page of what it holds."""

import argparse
import random
from collections.abc import Sequence
from typing import Final

from tests.faults.soak.page import PAGE, render
from tests.faults.soak.results import SOAKS, Soaked
from tests.faults.soak.run import soak
from tests.faults.table.command import add_arguments_of_a_run
from tests.fixtures.ledgers import add_to_ledger, read_ledger

MINUTES: Final = 60.0


def main(arguments: Sequence[str]) -> int:
    """Run what the arguments ask for; returns 1 if a figure grows, or a promise was broken."""
    asked = _parser().parse_args(arguments)
    seed = random.SystemRandom().randrange(1_000_000) if asked.seed is None else asked.seed
    print(f"seed {seed}; history in {asked.out}", flush=True)
    soaked = soak(minutes=asked.minutes, seed=seed, out=asked.out)
    page = render([*read_ledger(SOAKS, Soaked), soaked])
    print(page)
    if not asked.dry:
        add_to_ledger(SOAKS, [soaked])
        PAGE.write_text(page, encoding="utf-8")
    broken = soaked.counts.broken + soaked.counts.gone
    return int(bool(broken) or bool(soaked.growing))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="how long (default: %(default)s)")
    add_arguments_of_a_run(parser)
    return parser
