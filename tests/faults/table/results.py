"""What runs found: one line of JSON a run, kept beside the page that is made of them."""

import json
import os
import platform
import subprocess
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


def present_commit() -> str:
    """Return the commit of this tree, with a "+" if files other than those of the page differ from it."""
    commit, changed = _git("rev-parse", "--short=10", "HEAD"), _git("status", "--porcelain", "--untracked-files=no")
    own = {"results.jsonl", "README.md", "soak.md"}
    others = [each for each in changed.splitlines() if Path(each[3:]).name not in own]
    return commit + ("+" if others else "")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=FOLDER, capture_output=True, text=True, check=True).stdout.rstrip()


def this_machine() -> str:
    """Return what a run depends on of this machine."""
    memory = psutil.virtual_memory().total / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GB, {platform.system()}, Python {platform.python_version()}"
