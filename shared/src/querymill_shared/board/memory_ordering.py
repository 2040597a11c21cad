"""The clock of the board in memory, which never goes back, and the versions that it gives to writes."""

from collections.abc import Callable

from querymill_shared.board import joining
from querymill_shared.board.ordering import LargestStored
from querymill_shared.contracts.jobs import JobRequest


class MemoryClock:
    """Seconds since the epoch by another clock, as long as that does not go back: see `read_clock` in prelude.lua."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._noted: tuple[float, float] | None = None

    def __call__(self) -> float:
        """Return the time. After a step back of the other clock, it goes on by 1 % too slowly."""
        server = self._clock()
        if self._noted is None:
            self._noted = server, server
        board, at = self._noted
        self._noted = max(server, board + 0.99 * max(0.0, server - at)), server
        return self._noted[0]

    @property
    def ahead_s(self) -> float:
        """By how many seconds it is ahead of the other clock."""
        board, at = self._noted or (0.0, 0.0)
        return board - at


class MemoryVersions:
    """The versions of writes, in µs. Those of the first are raised once it is known what is stored already."""

    def __init__(self, largest_stored: LargestStored) -> None:
        self._largest_stored = largest_stored
        self._last = 0
        self._base: int | None = None
        self._raised: int | None = None
        self._raised_until = 0

    def accept(self, request: JobRequest, now: float) -> int:
        """Return the version of a job that is accepted now. It is larger than all before, if that matters."""
        if not joining.is_ordered(request):
            return round(now * 1_000_000)
        self._last = max(round(now * 1_000_000), self._last + 1)
        if self._base is None:
            self._base = self._last
        return self._last

    def of(self, request: JobRequest, accepted_us: int) -> int:
        """Return the version under which a job writes. The first to ask looks for larger ones in the stores."""
        if not joining.is_ordered(request) or self._base is None:
            return accepted_us
        if self._raised is None:
            self._raised = max(0, self._largest_stored(self._base) + 1 - self._base)
            self._raised_until = self._last
            self._last += self._raised
        return accepted_us + (self._raised if accepted_us <= self._raised_until else 0)
