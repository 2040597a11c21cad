"""The command: let a fleet work for long, and write the page of what it holds."""

import argparse
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.faults.soak.page import PAGE, render
from tests.faults.soak.run import soak

MINUTES: Final = 60.0


def main(arguments: Sequence[str]) -> int:
    """Run what the arguments ask for; returns 1 if a figure grows, or a promise was broken."""
    asked = _parser().parse_args(arguments)
    seed = random.SystemRandom().randrange(1_000_000) if asked.seed is None else asked.seed
    print(f"seed {seed}; history in {asked.out}", flush=True)
    soaked = soak(minutes=asked.minutes, seed=seed, out=asked.out)
    page = render(soaked)
    print(page)
    if not asked.dry:
        PAGE.write_text(page, encoding="utf-8")
    counts = soaked.counts
    broken = counts.lost + counts.doubled + counts.wrong + counts.stuck
    return int(bool(broken) or not all(slope.is_flat for slope in soaked.slopes.values()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="how long (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="the chances of an earlier run (default: new ones)")
    parser.add_argument(
        "--out", type=Path, default=Path(tempfile.gettempdir()) / "querymill-faults",
        help="where the history goes (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--dry", action="store_true", help="leave the page as it is")
    return parser
