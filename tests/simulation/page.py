"""The pages that the command writes: what it ran, on which commit and day, and what came of it."""

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.fixtures.ledgers import add_to_ledger, read_ledger
from tests.fixtures.trees import present_commit
from tests.simulation.runs import RUNS, Run, by_code, joined

_HERE: Final = Path(__file__).parent
SCHEDULES: Final = _HERE / "schedules.md"
MUTATIONS: Final = _HERE / "mutations.md"
#: So many schedules are what nights go through, one part each, and then again.
ALL: Final = 1_000_000
_HEADS: Final = (
    "code", "schedules", "seeds", "calls", "promises broken", "time of a processor", "commits", "days", "machine",
)  # fmt: skip
_ADDED: Final = f"""Each run with `--page` adds a line to [{RUNS.name}]({RUNS.name}). The runs of one state of the code
are one row here: `code` is a digest of all files that a schedule may depend on, those of the product and those of the
simulation. A seed that was run twice counts once."""


def seeds_of_night(count: int, day: int) -> range:
    """Return the seeds of a day, counted from 1970: so many after those of the day before, below a million.

    With 50,000 a night, day 20 begins at 0 again: it goes through all in twenty nights.
    """
    first = day * count % ALL
    return range(first, min(first + count, ALL))


def today() -> int:
    """Return the number of the day."""
    return int(datetime.now(UTC).timestamp()) // 86_400


def write_schedules(seeds: range, calls: int, failed: Sequence[int], *, code: str, cpu_s: float) -> None:
    """Add a run to those that are kept, and write what they come to."""
    (_, commit), (_, day), (_, machine) = _where()
    run = Run(code, seeds.start, seeds.stop, calls, tuple(failed), round(cpu_s, 1), commit, day, machine)
    add_to_ledger(RUNS, [run])
    _write(SCHEDULES, "Schedules", _HEADS, [row_of(each) for each in by_code(read_ledger(RUNS, Run))], said=_ADDED)


def row_of(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return what the runs of one state of the code come to. A seed that was run twice counts once."""
    seeds = joined(run.seeds for run in runs)
    failed = sorted({seed for run in runs for seed in run.failed})
    spent_s = sum(run.cpu_s for run in runs)
    return (
        runs[0].code,
        f"{sum(map(len, seeds)):,}",
        ", ".join(f"{each.start:,} to {each.stop - 1:,}" for each in seeds),
        f"{sum(run.calls for run in runs):,}",
        f"{len(failed)}{': seeds ' + ', '.join(map(str, failed[:100])) if failed else ''}",
        f"{spent_s / 3600:.1f} h, {1000 * spent_s / max(1, sum(len(run.seeds) for run in runs)):.0f} ms a schedule",
        _first_to_last([run.commit for run in runs]),
        _first_to_last([run.day for run in runs]),
        "; ".join(sorted({run.machine for run in runs})),
    )


def _first_to_last(said: Sequence[str]) -> str:
    return said[0] if said[0] == said[-1] else f"{said[0]} to {said[-1]}"


def write_mutations(rows: Sequence[tuple[str, str, str]]) -> None:
    """Write after how many schedules each defect was found, and by which promise."""
    _write(MUTATIONS, "Mutations", ("defect", "found after so many schedules", "by the promise"), rows, _where())


def _where() -> list[tuple[str, str]]:
    commit = present_commit(but=(SCHEDULES.name, MUTATIONS.name, RUNS.name))
    return [
        ("commit", commit), ("day", f"{datetime.now(UTC):%Y-%m-%d}"),
        ("machine", f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"),
    ]  # fmt: skip


def _write(
    page: Path, title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], beside: Sequence[Sequence[str]] = (),
    said: str = "",
) -> None:  # fmt: skip
    lines = [f"# {title}", "", "Written by `python -m tests.simulation`: see [README](README.md).", ""]
    lines += [said, ""] if said else []
    lines += [_row(heads), _row(["---"] * len(heads)), *map(_row, rows)]
    lines += ["", *(f"- {name}: {said}" for name, said in beside)] if beside else []
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
