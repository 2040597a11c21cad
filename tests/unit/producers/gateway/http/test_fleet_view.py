"""The fleet as a gateway has seen it."""

import asyncio
from typing import Any

import pytest

from querymill.gateway.http import fleet
from querymill.gateway.http.fleet import APART_S, KEPT_S, FleetView
from querymill.gateway.http.problems import Problem
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

    monkeypatch.setattr(fleet, "time", clock)
    monkeypatch.setattr(fleet, "figures", figures)

    async def look() -> None:
        view = FleetView(Settings())
        found = await asyncio.gather(*(view.now() for _ in range(50)))
        assert {moment.figures["read"] for moment in found} == {1}
        assert view.before() is None
        clock.now += APART_S + 1
        await view.now()
        former = view.before()
        assert former is not None
        assert former.figures["read"] == 1
        clock.now += KEPT_S
        await view.now()
        former = view.before()
        assert former is not None
        assert former.figures["read"] == 2
        clock.now = 100_000
        with pytest.raises(Problem):
            await view.now()

    asyncio.run(look())
