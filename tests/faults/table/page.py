"""The page: a table with a row for each line and its servers, and the runs that it adds up."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from tests.faults.histories.counting import Counts, percentile
from tests.faults.histories.promises import PROMISES
from tests.faults.table.lines import LINES, Line, breaks_promise
from tests.faults.table.results import FOLDER, Result

PAGE: Final = FOLDER / "README.md"
#: The counts that add up.
SUMS: Final = (
    "submitted",
    "lost",
    "doubled",
    "wrong",
    "degraded",
    "failed",
    "refused",
    "dead",
    "stuck",
    "gone",
    "faults",
)
_SERVERS: Final = {"valkey": "Valkey", "rabbitmq": "RabbitMQ", "cluster": "Valkey cluster"}
_HEAD: Final = (FOLDER / "table" / "head.txt").read_text(encoding="utf-8")


def render(results: Sequence[Result]) -> str:
    """Return the page."""
    promises = "; ".join(PROMISES)
    added = [run for run in results if not run.left_out]
    parts = [
        _HEAD.format(promises=promises), "## The table\n", _table(_groups(added, is_control=False)),
        "\n## Controls, one run a row\n", _controls(added),
        "\n## What each line does\n", *map(_said, LINES.values()),
        "\n## Runs\n", _runs(results), *_left_out(results), *_broken(added),
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def _groups(results: Sequence[Result], *, is_control: bool) -> list[tuple[Line, str, list[Result]]]:
    """Return the runs of each line on each of its servers; there may be none."""
    return [
        (line, servers, [each for each in results if (each.line, each.servers) == (line.name, servers)])
        for line in LINES.values()
        if line.is_control is is_control
        for servers in line.on
    ]


def _table(groups: Iterable[tuple[Line, str, list[Result]]]) -> str:
    names = ("line", "on", *SUMS, "recovery p50", "p95")
    rows = [_row(line, servers, runs) for line, servers, runs in groups]
    total = _total([counts for _, _, runs in groups for counts in (run.counts for run in runs)], "**all**")
    return _grid(names, [*rows, total], align=["---", "---", *["---:"] * (len(names) - 2)])


def _controls(results: Sequence[Result]) -> str:
    """Return a row for each run, so that one that shows nothing is seen."""
    columns = ("line", "on", "seed", *SUMS, "recovery p50", "p95")
    rows = [
        [*_row(line, servers, [run])[:2], str(run.seed), *_row(line, servers, [run])[2:]]
        for line, servers, runs in _groups(results, is_control=True)
        for run in runs
    ]
    return _grid(columns, rows, align=["---", "---", *["---:"] * (len(columns) - 2)])


def _said(line: Line) -> str:
    """Return what a line does, and what it does not check."""
    unchecked = f". Not checked, because the fault itself breaks it: {'; '.join(sorted(line.spares))}"
    return f"- **{line.name}**: {line.says}{unchecked if line.spares else ''}"


def _row(line: Line, servers: str, runs: Sequence[Result]) -> list[str]:
    if not runs:
        return [line.name, _SERVERS[servers], *["not run yet"], *[""] * (len(SUMS) + 1)]
    return [line.name, _SERVERS[servers], *_total([run.counts for run in runs], "")[2:]]


def _total(counts: Sequence[Counts], name: str) -> list[str]:
    recoveries = [each for count in counts for each in count.recovery_s]
    sums = [f"{sum(getattr(count, field) for count in counts):,}" for field in SUMS]
    return [name, "", *sums, *(_seconds(percentile(recoveries, share)) for share in (0.5, 0.95))]


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _runs(results: Sequence[Result]) -> str:
    columns: dict[str, Callable[[Result], object]] = {
        "line": lambda run: run.line, "on": lambda run: _SERVERS[run.servers], "seed": lambda run: run.seed,
        "`--jobs`": lambda run: run.jobs, "submitted": lambda run: run.counts.submitted, "s": lambda run: run.took_s,
        "day": lambda run: run.day,
        "commit": lambda run: f"`{run.commit}`", "machine": lambda run: run.machine,
        "servers": lambda run: run.versions,
    }  # fmt: skip
    rows = [[str(show(run)) for show in columns.values()] for run in results]
    return _grid(tuple(columns), rows, align=["---"] * len(columns))


def _broken(results: Sequence[Result]) -> list[str]:
    """Return what broke a promise, where no guard was switched off."""
    told = [
        f"- {run.line} on {_SERVERS[run.servers]}, seed {run.seed}: {breach}"
        for run in results
        if run.line in LINES and not LINES[run.line].is_control and breaks_promise(LINES[run.line], run.counts)
        for breach in [*run.counts.breaches, *_not_shown(run.counts)]
    ]
    return ["\n## What broke a promise\n", *(told or ["Nothing."])]


def _not_shown(counts: Counts) -> list[str]:
    """Return how many breaches a run had beyond those that it keeps in words."""
    more = counts.broken + counts.gone - len(counts.breaches)
    return [f"and {more} more"] if more > 0 and counts.breaches else []


def _left_out(results: Sequence[Result]) -> list[str]:
    """Return the runs that are not added up, and why."""
    told = [
        f"- {run.line} on {_SERVERS[run.servers]}, seed {run.seed}: {run.left_out}. It had counted:"
        f" {'; '.join(run.counts.breaches)}"
        for run in results
        if run.left_out
    ]
    return ["\n## Runs that are not added up\n", *told] if told else []


def _grid(names: Sequence[str], rows: Iterable[Sequence[str]], *, align: Sequence[str]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (names, align, *rows))
