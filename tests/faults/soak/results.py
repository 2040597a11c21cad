"""What a soak found."""

from dataclasses import dataclass
from typing import Final

from tests.faults.histories.counting import Counts
from tests.faults.soak.figures import TOMBSTONES
from tests.faults.soak.slopes import Slope
from tests.faults.table.results import FOLDER

SOAKS: Final = FOLDER / "soaks.jsonl"


@dataclass(frozen=True)
class Soaked:
    """What one found: the slope of each figure, how often each fault came about, and what became of its jobs."""

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
    #: What differs from the settings that are shipped.
    settings: dict[str, str]
    #: What somebody found out about it afterwards.
    remark: str = ""

    @property
    def growing(self) -> tuple[str, ...]:
        """The figures that were not flat. Tombstones are a part of one that is judged as a whole."""
        return tuple(name for name, slope in self.slopes.items() if not slope.is_flat and name != TOMBSTONES)
