"""What a run of a line found, with what a stranger needs to repeat it."""

import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

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
    """One run of a line."""

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
    #: Why it is not added up.
    left_out: str = ""


def result_of(
    line: Line, servers: Servers, counts: Counts, *, seed: int, jobs: int, commit: str, versions: str, took_s: float
) -> Result:  # fmt: skip
    """Return a run with this machine and day."""
    day = datetime.now(UTC).date().isoformat()
    return Result(line.name, servers, seed, jobs, day, commit, this_machine(), versions, round(took_s), counts)


def this_machine() -> str:
    """Return what a run depends on of this machine."""
    memory = psutil.virtual_memory().total / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GB, {platform.system()}, Python {platform.python_version()}"
