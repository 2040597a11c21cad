"""The pages that the command writes: what it ran, on which commit and day, and what came of it."""

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.fixtures.trees import present_commit

_HERE: Final = Path(__file__).parent
SCHEDULES: Final = _HERE / "schedules.md"
MUTATIONS: Final = _HERE / "mutations.md"
#: So many schedules are what nights go through, one part each, and then again.
ALL: Final = 1_000_000


def seeds_of_night(count: int, day: int) -> range:
    """Return the seeds of a day, counted from 1970: so many after those of the day before, below a million.

    With 50,000 a night, day 20 begins at 0 again: it goes through all in twenty nights.
    """
    first = day * count % ALL
    return range(first, min(first + count, ALL))


def today() -> int:
    """Return the number of the day."""
    return int(datetime.now(UTC).timestamp()) // 86_400


def write_schedules(seeds: range, calls: int, failed: Sequence[int], took_s: float, processes: int) -> None:
    """Write what some schedules came to."""
    each_ms = 1000 * took_s * processes / max(1, len(seeds))
    within = "1 process" if processes == 1 else f"{processes} processes"
    rows = [
        ("seeds", f"{seeds.start:,} to {seeds.stop - 1:,}"), ("schedules", f"{len(seeds):,}"), ("calls", f"{calls:,}"),
        ("promises broken", f"{len(failed)}{': seeds ' + ', '.join(map(str, failed[:20])) if failed else ''}"),
        ("time", f"{took_s:,.0f} s in {within}, {each_ms:.0f} ms a schedule"), *_where(),
    ]  # fmt: skip
    _write(SCHEDULES, "Schedules", ("what", "figure"), rows)


def write_mutations(rows: Sequence[tuple[str, str, str]]) -> None:
    """Write after how many schedules each defect was found, and by which promise."""
    _write(MUTATIONS, "Mutations", ("defect", "found after so many schedules", "by the promise"), rows, _where())


def _where() -> list[tuple[str, str]]:
    commit = present_commit(but=(SCHEDULES.name, MUTATIONS.name))
    return [
        ("commit", commit), ("day", f"{datetime.now(UTC):%Y-%m-%d}"),
        ("machine", f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"),
    ]  # fmt: skip


def _write(
    page: Path, title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], beside: Sequence[Sequence[str]] = ()
) -> None:
    lines = [f"# {title}", "", "Written by `python -m tests.simulation`: see [README](README.md).", ""]
    lines += [_row(heads), _row(["---"] * len(heads)), *map(_row, rows)]
    lines += ["", *(f"- {name}: {said}" for name, said in beside)] if beside else []
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
