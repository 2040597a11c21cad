"""The part of the board in memory that knows which worker processes live."""

import json
from collections.abc import Mapping
from typing import Any

from querymill_shared.board.lives import worker_life
from querymill_shared.board.picture import WorkerLife


class MemoryLives:
    """What worker processes last said of themselves, and when, in seconds."""

    def __init__(self) -> None:
        self._beats: dict[str, tuple[str, float]] = {}

    def beat(self, life: str, about: Mapping[str, Any], *, now: float, silent_s: float) -> list[str]:
        """Note that a process lives. Return the lives that were not heard of for ``silent_s`` seconds."""
        self._beats[life] = (json.dumps(dict(about)), now)
        return [life for life, (_, at) in self._beats.items() if now - at >= silent_s]

    def forget(self, life: str) -> None:
        """Strike a process off the list."""
        self._beats.pop(life, None)

    def workers(self, now: float) -> list[WorkerLife]:
        """Return the processes, the one heard of last first."""
        found = [worker_life(life, about, now - at) for life, (about, at) in self._beats.items()]
        return sorted(found, key=lambda worker: worker.beat_age_s)
