"""Places that callers share: none takes the last of them, and who waits for one gets it in turn, caller by caller."""

import asyncio
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from contextlib import suppress

from querymill.keys import LOOPBACK_CALLER


def may_take(caller: str, held: Mapping[str, int], free: int) -> bool:
    """Return whether a caller may take a place: one who holds fewer than are free, so that others always find some.

    So one caller alone gets half of all places, rounded up, and the next one half of the rest. Who calls without a
    key shares with nobody, as then nobody has one.
    """
    return free > 0 and (caller == LOOPBACK_CALLER.id or held.get(caller, 0) < free)


def next_in_turn(waiting: Iterable[str], held: Mapping[str, int], free: int) -> str | None:
    """Return who of those who wait, in order, gets a place: the first of those who hold fewest, None if nobody may."""
    allowed = [caller for caller in waiting if may_take(caller, held, free)]
    return min(allowed, key=lambda caller: held.get(caller, 0), default=None)


class SharedPlaces:
    """A number of places, shared by callers that are named by the ids of their keys. For one event loop."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._held: Counter[str] = Counter()
        #: Who waits, in the order in which they get a turn.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @property
    def taken(self) -> int:
        """How many places are taken."""
        return self._held.total()

    def take(self, caller: str) -> bool:
        """Take a place, unless the caller has its share. Return whether it was taken."""
        if not may_take(caller, self._held, self._free):
            return False
        self._free -= 1
        self._held[caller] += 1
        return True

    async def wait(self, caller: str, *, patience_s: float) -> None:
        """Take a place in turn.

        Raises:
            TimeoutError: None became free in time.
        """
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(turn)
        self._give()
        try:
            async with asyncio.timeout(patience_s):
                await turn
        except (asyncio.CancelledError, TimeoutError):
            if turn.done() and not turn.cancelled():  # it was given in the same moment
                self.give_back(caller)
            self._forget(caller, turn)
            raise

    def give_back(self, caller: str) -> None:
        """Give a place to the next in turn."""
        self._free += 1
        self._held[caller] -= 1
        if not self._held[caller]:
            del self._held[caller]
        self._give()

    def _give(self) -> None:
        while (caller := next_in_turn(self._waiting, self._held, self._free)) is not None:
            turns = self._waiting.pop(caller)
            turn = turns.popleft()
            if turns:
                self._waiting[caller] = turns  # behind the others
            if not turn.done():
                self.take(caller)
                turn.set_result(None)

    def _forget(self, caller: str, turn: asyncio.Future[None]) -> None:
        turns = self._waiting.get(caller, deque())
        with suppress(ValueError):
            turns.remove(turn)
        if not turns:
            self._waiting.pop(caller, None)
