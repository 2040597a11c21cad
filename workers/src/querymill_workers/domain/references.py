"""References between sessions: a later one speaks of an earlier one.

Explicit: it says so ("last time"); implicit: the earlier one's key phrases come back in it.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["explicit", "implicit"]


@dataclass(frozen=True, slots=True)
class Reference:
    """An edge of the graph: ``source`` has ``shared`` of the ``size`` key phrases of the earlier ``target``."""

    source: str
    target: str
    kind: Kind
    shared: int
    size: int

    @property
    def overlap(self) -> float:
        """Decided: what is shared, of the key phrases of the earlier session."""
        return self.shared / self.size
