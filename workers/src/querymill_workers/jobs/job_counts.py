"""What the calls of a step cost it: counted where they are made, and noted with the part of the step that made them.

The counts of a step go with its thread, and with the threads that make its calls. Where no step runs, nothing is
counted.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from querymill_shared.board import AttemptPart, Claim
from querymill_shared.contracts.costs import ModelCost, added


@dataclass(slots=True)
class StepCounts:
    """The parts of a step so far, and what was counted since the last of them. ``owner`` is the API key that pays."""

    job_id: str = ""
    step: str = ""
    owner: str = ""
    began: float = field(default_factory=time.monotonic)
    parts: list[AttemptPart] = field(default_factory=list)
    waited_ms: float = 0.0
    calls: int = 0
    cached: int = 0
    shared: int = 0
    costs: list[ModelCost] = field(default_factory=list)
    called: str = ""
    called_ms: float = 0.0
    _under_way: int = 0
    _calling_since: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def begin_call(self, what: str) -> None:
        """Note that a call of a provider begins, or a wait for one. Calls at the same time take that time once."""
        with self._lock:
            if not self._under_way:
                self._calling_since = time.monotonic()
            self.called, self._under_way = what, self._under_way + 1

    def end_call(self) -> None:
        """Note that a call has ended."""
        with self._lock:
            self._under_way -= 1
            if not self._under_way:
                self.called_ms += (time.monotonic() - self._calling_since) * 1000

    def close_part(self, what: str, ms: float) -> None:
        """Note a part that ends now, with what was counted for it. It cannot have waited longer than it took."""
        waited_ms = round(min(self.waited_ms, ms), 2) if self.waited_ms else 0.0
        self.parts.append(
            AttemptPart(what, ms, waited_ms, self.calls, self.cached, self.shared, costs=added(self.costs))
        )
        self.waited_ms, self.calls, self.cached, self.shared, self.costs = 0.0, 0, 0, 0, []
        self.called_ms, self._calling_since = 0.0, time.monotonic()

    def close(self, what: str = "work") -> tuple[AttemptPart, ...]:
        """Return all parts of an attempt that ends now, with the time that none of them took as the last ones.

        What of it a provider took, as one that failed or did not answer in time, is a part named by what it was asked.
        """
        left_ms = round((time.monotonic() - self.began) * 1000 - sum(part.ms for part in self.parts), 2)
        since_ms = (time.monotonic() - self._calling_since) * 1000 if self._under_way else 0.0
        called_ms = round(min(self.called_ms + since_ms, left_ms), 2)
        if called_ms >= 1:
            self.close_part(self.called, called_ms)
            left_ms = round(left_ms - called_ms, 2)
        if left_ms >= 1 or self.calls or self.waited_ms or self.costs:
            self.close_part(what, max(left_ms, 0.0))
        return tuple(self.parts)


_CURRENT: ContextVar[StepCounts | None] = ContextVar("counts", default=None)


@contextmanager
def counting(claim: Claim) -> Iterator[StepCounts]:
    """Count what the step of a claim costs, until the block ends."""
    counts = StepCounts(claim.job_id, claim.step, claim.owner)
    token = _CURRENT.set(counts)
    try:
        yield counts
    finally:
        _CURRENT.reset(token)


@contextmanager
def calling(what: str) -> Iterator[None]:
    """Count the time of a block as that of a provider, which is asked for chat, embeddings or rerank."""
    counts = current()
    counts.begin_call(what)
    try:
        yield
    finally:
        counts.end_call()


@contextmanager
def uncounted() -> Iterator[None]:
    """Count a block for no step: it works for several, and each counts its own part."""
    token = _CURRENT.set(None)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current() -> StepCounts:
    """Return the counts of the step that this thread works for, or counts that nobody reads."""
    return _CURRENT.get() or StepCounts()
