"""How the fleet is, read at most once a second for all who look, with what it was a while ago."""

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import Request

from querymill.fleet import figures
from querymill.gateway.http.context import context_of
from querymill.gateway.http.problems import unavailable
from querymill_shared.settings import Settings

#: A picture of the fleet serves all who look within this time, in seconds.
FRESH_S: Final = 1.0
#: Former pictures are kept this far apart, and for this long, in seconds.
APART_S, KEPT_S = 20.0, 3_600.0


@dataclass(frozen=True, slots=True)
class Moment:
    """The fleet at a time (s, of this process's monotonic clock)."""

    at: float
    figures: dict[str, Any]


@dataclass(slots=True)
class FleetView:
    """The fleet as this process has seen it."""

    settings: Settings
    _last: Moment | None = None
    _former: deque[Moment] = field(default_factory=deque)
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
                self._keep(Moment(time.monotonic(), found))
        assert self._last is not None  # noqa: S101  # it was just read
        return self._last

    def before(self) -> Moment | None:
        """Return the fleet as it was up to an hour ago, None if nobody looked then, or only just now."""
        if self._last is None or not self._former or self._last.at - self._former[0].at < APART_S:
            return None
        return self._former[0]

    def seen(self) -> list[tuple[float, dict[str, float]]]:
        """Return the counters at the times (s) at which somebody looked in the last hour, the last one included."""
        moments = [*self._former, *(() if self._last is None else (self._last,))]
        return [(moment.at, moment.figures["counts"]) for moment in moments]

    def _keep(self, moment: Moment) -> None:
        self._last = moment
        if not self._former or moment.at - self._former[-1].at > APART_S:
            self._former.append(moment)
        while moment.at - self._former[0].at > KEPT_S:
            self._former.popleft()


def view_of(request: Request) -> FleetView:
    """Return what this process has seen of the fleet."""
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
