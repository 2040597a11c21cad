"""What soaks found: one line of JSON each, kept beside the page that is made of them."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from tests.faults.histories.counting import Counts
from tests.faults.soak.slopes import Slope
from tests.faults.table.results import FOLDER

SOAKS: Final = FOLDER / "soaks.jsonl"


@dataclass(frozen=True)
class Soaked:
    """What a run found: the slope of each figure, how often each fault came about, and what became of its jobs."""

    seconds: float
    seed: int
    slopes: dict[str, Slope]
    samples: int
    missed: int
    counts: Counts
    faults: dict[str, int]
    not_brought_about: tuple[str, ...]
    versions: str
    commit: str
    day: str
    machine: str
    #: What somebody found out about it afterwards.
    remark: str = ""

    @property
    def growing(self) -> tuple[str, ...]:
        """The figures that were not flat."""
        return tuple(name for name, slope in self.slopes.items() if not slope.is_flat)


def read_soaks(path: Path = SOAKS) -> list[Soaked]:
    """Read all runs, the first one first."""
    if not path.exists():
        return []
    return [_read(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def _read(written: dict[str, Any]) -> Soaked:
    slopes = {name: Slope(**slope) for name, slope in written["slopes"].items()}
    not_brought_about = tuple(written["not_brought_about"])
    counts = Counts(**written["counts"])
    return Soaked(**(written | {"slopes": slopes, "not_brought_about": not_brought_about, "counts": counts}))


def add_soak(soaked: Soaked, path: Path = SOAKS) -> None:
    """Add a run to those that are kept."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(soaked)) + "\n")
