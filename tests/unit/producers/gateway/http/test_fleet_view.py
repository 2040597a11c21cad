"""The fleet as a gateway sees it."""

import asyncio
from typing import Any

import pytest

from querymill.gateway.http import fleet
from querymill.gateway.http.fleet import FRESH_S, SHOWN_MINUTES, FleetView
from querymill.gateway.http.problems import Problem
from querymill_shared.fleet_history import Minute
from querymill_shared.settings import Settings


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now


def test_one_reading_serves_all_who_look_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, read = Clock(), list[float]()

    def figures(_: Settings) -> dict[str, Any] | None:
        read.append(clock.now)
        return {"read": len(read)} if clock.now < 90_000 else None

    def minutes_of(_: Settings, limit: int) -> list[Minute] | None:
        assert limit == SHOWN_MINUTES
        return [Minute(clock.now, 60, (), {})] if clock.now < 80_000 else None

    monkeypatch.setattr(fleet, "time", clock)
    monkeypatch.setattr(fleet, "figures", figures)
    monkeypatch.setattr(fleet, "minutes_of", minutes_of)

    async def look() -> None:
        view = FleetView(Settings())
        found = await asyncio.gather(*(view.now() for _ in range(50)))
        assert {moment.figures["read"] for moment in found} == {1}
        clock.now += FRESH_S + 1
        later = await view.now()
        assert (later.figures["read"], [minute.at for minute in later.minutes]) == (2, [clock.now])
        for away_at in (85_000, 100_000):
            clock.now = away_at
            with pytest.raises(Problem):
                await view.now()

    asyncio.run(look())
