"""How the fleet is, and what it did by the minute: read at most once a second for all who look."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import Request

from querymill.fleet import figures, minutes_of
from querymill.gateway.http.context import context_of
from querymill.gateway.http.problems import unavailable
from querymill_shared.fleet_history import MINUTES, Minute
from querymill_shared.settings import Settings

#: A picture of the fleet serves all who look within this time, in seconds.
FRESH_S: Final = 1.0
#: It has so many minutes of the fleet's history.
SHOWN_MINUTES: Final = 60
#: The history of a day is read again after this time, in seconds.
FRESH_DAY_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Moment:
    """The fleet at a time (s, of this process's monotonic clock), and its last hour as the board has it."""

    at: float
    figures: dict[str, Any]
    minutes: list[Minute]


@dataclass(slots=True)
class FleetView:
    """The fleet as all gateways see it."""

    settings: Settings
    _last: Moment | None = None
    _day: tuple[float, list[Minute]] | None = None
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def now(self) -> Moment:
        """Return the fleet as it is.

        Raises:
            Problem: The board does not answer.
        """
        async with self._reading:
            if self._last is None or time.monotonic() - self._last.at > FRESH_S:
                found = await asyncio.to_thread(figures, self.settings)
                if found is None:
                    raise unavailable("the board is not reachable")
                self._last = Moment(time.monotonic(), found, await self.minutes(SHOWN_MINUTES))
        return self._last

    async def day(self) -> list[Minute]:
        """Return what the fleet did by the minute in the last day, the earliest first.

        Raises:
            Problem: The board does not answer.
        """
        async with self._reading:
            if self._day is None or time.monotonic() - self._day[0] > FRESH_DAY_S:
                self._day = time.monotonic(), await self.minutes(MINUTES)
        return self._day[1]

    async def minutes(self, limit: int) -> list[Minute]:
        """Return what the fleet did in up to so many last minutes, the earliest first.

        Raises:
            Problem: The board does not answer.
        """
        found = await asyncio.to_thread(minutes_of, self.settings, limit)
        if found is None:
            raise unavailable("the board is not reachable")
        return found


def view_of(request: Request) -> FleetView:
    """Return the view of the fleet that all requests to this process share."""
    view: FleetView | None = getattr(request.app.state, "fleet_view", None)
    if view is None:
        view = request.app.state.fleet_view = FleetView(context_of(request).settings)
    return view


async def fleet_of(request: Request) -> dict[str, Any]:
    """Return the figures of the fleet.

    Raises:
        Problem: The board does not answer.
    """
    return (await view_of(request).now()).figures
