"""What all clients of a run record: their operations, on one clock."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.histories.operations import Operation


@dataclass
class Recorder:
    """The history of a run."""

    began: float = field(default_factory=time.monotonic)
    history: list[Operation] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def now(self) -> float:
        """Seconds since the run began."""
        return round(time.monotonic() - self.began, 6)

    def note(
        self, client: str, kind: str, begin: float, end: float, *, argument: Mapping[str, Any], seen: Mapping[str, Any]
    ) -> None:  # fmt: skip
        """Record an operation."""
        with self._lock:
            self.history.append(Operation(client, kind, begin, end, argument, seen))

    @contextmanager
    def during(self, name: str) -> Iterator[None]:
        """Record a fault for as long as it lasts."""
        begin = self.now()
        yield
        self.note("faults", "fault", begin, self.now(), argument={"name": name}, seen={})

    def write(self, path: Path) -> None:
        """Write the history as lines of JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{operation.line()}\n" for operation in self.history), encoding="utf-8")


@dataclass
class Countdown:
    """So many jobs are to be submitted by all clients together, and more until it ``may_end``."""

    left: int
    may_end: Callable[[], bool]
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def takes_another(self) -> bool:
        """Whether there is another job to submit."""
        with self._lock:
            self.left -= 1
            return not self.is_over

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to submit."""
        return self.left < 0 and self.may_end()
