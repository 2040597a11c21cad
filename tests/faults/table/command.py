"""The command: run lines of faults one after another, and write the page."""

import argparse
import math
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, get_args

from tests.faults.table import controls, provider, servers, workers, zombies  # noqa: F401  # they register their lines
from tests.faults.table.lines import LINES, Line, breaks_promise
from tests.faults.table.nights import lines_of_night
from tests.faults.table.page import PAGE, render
from tests.faults.table.results import RESULTS, WRITTEN, Result, result_of
from tests.faults.table.run import House, open_house, run_line
from tests.faults.table.stage import Servers
from tests.fixtures.ledgers import add_to_ledger, read_ledger
from tests.fixtures.trees import present_commit
from tests.simulation.page import today

JOBS: Final = 300


def main(arguments: Sequence[str]) -> int:
    """Run what the arguments ask for; returns 1 if a promise was broken, or a control shows nothing."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    if asked.page:
        write_page()
        return 0
    for line in asked.lines or ():
        if not set(asked.servers) & set(line.on):
            parser.error(f"{line.name!r} is run with --servers {' '.join(line.on)}")
    lines, until = asked.lines or [*LINES.values()], math.inf
    if asked.nightly is not None:
        on, lines = lines_of_night(today(), LINES)
        asked.servers, until = [on], time.monotonic() + asked.nightly * 60
    if asked.seed is None:
        asked.seed = random.SystemRandom().randrange(1_000_000)
    return int(not _run_all(lines, asked, until=until))


def _run_all(lines: Sequence[Line], asked: argparse.Namespace, *, until: float) -> bool:
    """Run lines on their servers, and add each to the page. Return whether all was as it should be."""
    # What is run is what is there now, whatever is edited meanwhile.
    commit, is_well = present_commit(but=WRITTEN), True
    print(f"seed {asked.seed}, commit {commit}; histories in {asked.out}", flush=True)
    for on in asked.servers:
        with open_house(on, seed=asked.seed) as house:
            for line in [line for line in lines if on in line.on]:
                if time.monotonic() > until:
                    break
                result = _run(house, line, asked, commit=commit)
                is_well &= result is not None and is_as_it_should_be(line, result)
                if result is not None and not asked.dry:
                    add_to_ledger(RESULTS, [result])
                    write_page()
    return is_well


def write_page() -> None:
    """Write the page from all runs that are kept."""
    PAGE.write_text(render(read_ledger(RESULTS, Result)), encoding="utf-8")


def is_as_it_should_be(line: Line, result: Result) -> bool:
    """Whether no promise was broken, or, in a control, whether that was seen."""
    return breaks_promise(line, result.counts) is line.is_control


def _run(house: House, line: Line, asked: argparse.Namespace, *, commit: str) -> Result | None:
    begun, on, versions = time.monotonic(), house.stage.servers, house.stage.versions()
    try:
        counts = run_line(house, line, jobs=asked.jobs, seed=asked.seed, out=asked.out)
    except RuntimeError as error:
        print(f"{line.name} on {on}: {error}", flush=True)
        return None
    took_s = time.monotonic() - begun
    print(f"{line.name} on {on}, {took_s:.0f} s: {counts}", flush=True)
    return result_of(
        line, on, counts, seed=asked.seed, jobs=asked.jobs, commit=commit, versions=versions, took_s=took_s
    )  # fmt: skip


def _named(names: str) -> list[Line]:
    """Return the lines of names by comma.

    Raises:
        argparse.ArgumentTypeError: A line is not known.
    """
    unknown = [name for name in map(str.strip, names.split(",")) if name not in LINES]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no line {unknown[0]!r}")
    return [LINES[name.strip()] for name in names.split(",")]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults table", description=__doc__)
    parser.add_argument(
        "--lines", type=_named,
        help=f"lines to run, by comma (default: all that run on these servers): {', '.join(LINES)}",
    )  # fmt: skip
    parser.add_argument(
        "--jobs", type=int, default=JOBS,
        help="jobs of each line; more until its fault came about three times (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--servers", nargs="+", choices=get_args(Servers), default=["valkey"],
        help="what holds the board and carries the bells (default: a Valkey for both)",
    )  # fmt: skip
    parser.add_argument(
        "--nightly", type=float, metavar="MINUTES",
        help="the lines whose turn it is by the day, on the servers whose turn it is, none begun after so many minutes",
    )  # fmt: skip
    parser.add_argument("--page", action="store_true", help="run nothing, only write the page again")
    add_arguments_of_a_run(parser)
    return parser


def add_arguments_of_a_run(parser: argparse.ArgumentParser) -> None:
    """Add what every command takes that runs clients under faults."""
    parser.add_argument("--seed", type=int, help="the chances of an earlier run (default: new ones)")
    parser.add_argument(
        "--out", type=Path, default=Path(tempfile.gettempdir()) / "querymill-faults",
        help="where the histories go (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--dry", action="store_true", help="add nothing to the page and to what is kept of runs")
