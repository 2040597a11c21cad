"""Run schedules: ``python -m tests.simulation --seeds 0:1000``. See README.md."""

import argparse
import gc
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

from tests.simulation import page
from tests.simulation.mutations import MUTATIONS, Mutation, mutated
from tests.simulation.plans import Plan, plan_of
from tests.simulation.runs import present_code
from tests.simulation.schedule import Outcome, run, simulating
from tests.simulation.shrinking import shrunk

#: Schedules that one process runs before it tells what it found.
AT_ONCE = 250
#: By so many schedules every mutation is found.
MUTATION_LIMIT = 10_000


@dataclass(frozen=True)
class Part:
    """What came of some schedules."""

    count: int
    calls: int
    failed: tuple[int, ...]
    lines: tuple[str, ...]
    #: Seconds of a processor.
    cpu_s: float


def run_part(seeds: range, *, is_verbose: bool = False) -> Part:
    """Run the schedules of some seeds, and shrink those that break a promise."""
    failed, lines, calls, began = list[int](), list[str](), 0, time.process_time()
    with simulating() as settings:
        gc.freeze()  # to look for garbage among what stays takes a tenth of the time
        for seed in seeds:
            outcome = run(plan_of(seed), settings)
            calls += outcome.calls
            if is_verbose:
                lines.append(f"{seed} {outcome.digest:08x} {outcome.calls} calls, {outcome.seconds:.1f} s")
            if outcome.broken:
                failed.append(seed)
                lines += explained(outcome) if len(failed) <= 3 else map(str, outcome.broken)
    return Part(len(seeds), calls, tuple(failed), tuple(lines), time.process_time() - began)


def explained(outcome: Outcome) -> list[str]:
    """Return the least plan that breaks the same promise, with its trace."""
    promise = outcome.broken[0].promise
    with simulating() as settings:

        def breaks(plan: Plan) -> set[str]:
            return {broken.promise for broken in run(plan, settings).broken}

        least = shrunk(outcome.plan, promise, breaks)
        shown = run(least, settings, keeps_trace=True)
    return [f"seed {outcome.plan.seed} breaks a promise; shrunk:", str(least), *shown.trace, *map(str, shown.broken)]


def run_all(seeds: range, processes: int, *, is_verbose: bool) -> list[Part]:
    """Run the schedules of many seeds in several processes."""
    some = [range(first, min(first + AT_ONCE, seeds.stop)) for first in range(seeds.start, seeds.stop, AT_ONCE)]
    if processes == 1:
        return [run_part(part, is_verbose=is_verbose) for part in some]
    with ProcessPoolExecutor(processes) as pool:
        return list(pool.map(partial(run_part, is_verbose=is_verbose), some))


def find(mutation: Mutation, limit: int) -> tuple[int | None, str]:
    """Return after how many schedules a defect is found, and by which promise."""
    with simulating() as settings, mutated(mutation):
        for seed in range(limit):
            broken = run(plan_of(seed), settings).broken
            if broken:
                return seed + 1, broken[0].promise
    return None, ""


def find_mutations(names: Sequence[str], limit: int, *, is_kept: bool) -> int:
    """Print after how many schedules each mutation is found, and write the page. Return how many are not."""
    missed, rows = 0, list[tuple[str, str, str]]()
    for mutation in MUTATIONS:
        if names and not any(name in mutation.name for name in names):
            continue
        after, promise = find(mutation, limit)
        missed += after is None
        said = "NOT FOUND" if after is None else f"found after {after} schedules: {promise}"
        print(f"{mutation.name:50} {said}", flush=True)
        rows.append((mutation.name, "not found" if after is None else f"{after:,}", promise))
    if is_kept:
        page.write_mutations(rows)
    return missed


def replay(seed: int) -> int:
    """Print the trace of a schedule. Return 1 if it breaks a promise."""
    with simulating() as settings:
        outcome = run(plan_of(seed), settings, keeps_trace=True)
    print(outcome.plan, *outcome.trace, *outcome.broken, f"digest {outcome.digest:08x}", sep="\n")
    return int(bool(outcome.broken))


def main() -> int:
    """Run what the command line asks for. Return 1 if a promise was broken, or a mutation not found."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument(
        "--seeds", help=f"the first seed and the one after the last (default: 0:100; of mutations: 0:{MUTATION_LIMIT})"
    )
    parser.add_argument("--processes", type=int, default=1, help="how many processes share them")
    parser.add_argument("--replay", type=int, metavar="SEED", help="run one schedule, and print its trace")
    parser.add_argument("--mutations", nargs="*", metavar="NAME", help="look for defects that are put in on purpose")
    parser.add_argument("--nightly", type=int, metavar="COUNT", help="so many schedules, after those of yesterday")
    parser.add_argument("--page", action="store_true", help="write the page with what was found")
    parser.add_argument("--verbose", action="store_true", help="print a line for each schedule")
    asked = parser.parse_args()
    if asked.replay is not None:
        return replay(asked.replay)
    given = asked.seeds or f"0:{100 if asked.mutations is None else MUTATION_LIMIT}"
    seeds = range(*map(int, given.split(":")))
    if asked.nightly is not None:
        seeds = page.seeds_of_night(asked.nightly, page.today())
    if asked.mutations is not None:
        return int(find_mutations(asked.mutations, min(MUTATION_LIMIT, len(seeds)), is_kept=asked.page) > 0)
    return run_and_tell(seeds, asked.processes, is_kept=asked.page, is_verbose=asked.verbose)


def run_and_tell(seeds: range, processes: int, *, is_kept: bool, is_verbose: bool) -> int:
    """Run schedules, print what broke a promise, and write the page. Return 1 if one was broken."""
    began, code = time.perf_counter(), present_code()
    parts = run_all(seeds, processes, is_verbose=is_verbose)
    took = time.perf_counter() - began
    failed = [seed for part in parts for seed in part.failed]
    for line in (line for part in parts for line in part.lines):
        print(line)
    calls = sum(part.calls for part in parts)
    print(f"{len(seeds)} schedules, {calls} calls, {len(failed)} failed, {took:.1f} s")
    if is_kept:
        page.write_schedules(seeds, calls, failed, code=code, cpu_s=sum(part.cpu_s for part in parts))
    return int(bool(failed))


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets is part of a schedule
        again = [sys.executable, "-m", "tests.simulation", *sys.argv[1:]]
        os.execve(sys.executable, again, {**os.environ, "PYTHONHASHSEED": "0"})
    raise SystemExit(main())
