"""What runs found: one line of JSON a run, kept beside the page that is made of them."""

import json
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import psutil

from tests.faults.histories.counting import Counts
from tests.faults.table.lines import Line
from tests.faults.table.stage import Servers

FOLDER: Final = Path(__file__).parents[1]
RESULTS: Final = FOLDER / "results.jsonl"
#: Files that runs write themselves.
WRITTEN: Final = ("results.jsonl", "README.md", "soaks.jsonl", "soak.md")


@dataclass(frozen=True)
class Result:
    """One run of a line, with what a stranger needs to repeat it."""

    line: str
    servers: Servers
    seed: int
    jobs: int
    day: str
    commit: str
    machine: str
    versions: str
    took_s: int
    counts: Counts
    #: Why it is not added up: a run is never taken out.
    left_out: str = ""


def result_of(
    line: Line, servers: Servers, counts: Counts, *, seed: int, jobs: int, commit: str, versions: str, took_s: float
) -> Result:  # fmt: skip
    """Return a run with this machine and day."""
    day = datetime.now(UTC).date().isoformat()
    return Result(line.name, servers, seed, jobs, day, commit, this_machine(), versions, round(took_s), counts)


def read_results(path: Path = RESULTS) -> list[Result]:
    """Read all runs."""
    if not path.exists():
        return []
    return [_read(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def _read(written: dict[str, Any]) -> Result:
    return Result(**(written | {"counts": Counts(**written["counts"])}))


def add_results(results: Iterable[Result], path: Path = RESULTS) -> None:
    """Add runs to those that are kept."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(result)) + "\n" for result in results)


def this_machine() -> str:
    """Return what a run depends on of this machine."""
    memory = psutil.virtual_memory().total / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GB, {platform.system()}, Python {platform.python_version()}"
