"""Pauses between rounds: as long as the processor worked, not as long as jobs were waited for."""

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from querymill.watch.changes import Roots
from querymill.watch.rounds import PAUSE_S, follow
from querymill.watch.sessions import WatchReport


@dataclass
class Waiting:
    """A follower whose rounds wait for jobs, and cost hardly any work."""

    stop: threading.Event
    later: set[Path] = field(default_factory=set)

    def roots(self) -> Roots:
        return Roots()

    def everything(self) -> set[Path]:
        return {Path("a")}

    def take(self, changed: Iterable[Path], told: WatchReport) -> None:
        time.sleep(PAUSE_S + 0.1)


class Heard(threading.Event):
    """Notes how long it is waited for, and is set by that."""

    waited = -1.0

    def wait(self, timeout: float | None = None) -> bool:
        self.waited = timeout or 0.0
        self.set()
        return True


def test_a_round_that_waited_for_its_jobs_is_not_followed_by_as_long_a_pause() -> None:
    stop = Heard()
    follow(Waiting(stop), stop, lambda _: None, lambda _: None)
    assert stop.waited == PAUSE_S
