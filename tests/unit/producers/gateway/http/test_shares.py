"""Places that callers share."""

import asyncio
from contextlib import suppress

import pytest

from querymill.gateway.http.shares import SharedPlaces, may_take, next_in_turn


def test_a_caller_gets_half_of_what_is_there_and_the_next_one_half_of_the_rest() -> None:
    places = SharedPlaces(16)
    got = {caller: sum(places.take(caller) for _ in range(20)) for caller in ("a", "b", "c", "d", "e", "f")}
    assert got == {"a": 8, "b": 4, "c": 2, "d": 1, "e": 1, "f": 0}
    assert places.taken == 16


def test_whoever_calls_without_a_key_gets_all_places_and_no_more() -> None:
    places = SharedPlaces(3)
    assert [places.take("") for _ in range(4)] == [True, True, True, False]


def test_a_free_place_goes_to_the_first_of_those_who_hold_fewest() -> None:
    assert next_in_turn(["a", "b", "c"], {"a": 1}, 3) == "b"
    assert next_in_turn(["a"], {"a": 1}, 2) == "a"
    # The last place is for somebody who holds none.
    assert next_in_turn(["a"], {"a": 2}, 1) is None
    assert (may_take("a", {}, 0), may_take("", {}, 0)) == (False, False)


async def served(places: SharedPlaces, caller: str, order: list[str]) -> None:
    await places.wait(caller, patience_s=5)
    order.append(caller)
    await asyncio.sleep(0)
    places.give_back(caller)


def test_who_waits_is_served_caller_by_caller_and_each_in_the_order_of_asking() -> None:
    async def three_callers() -> list[str]:
        places, order = SharedPlaces(1), list[str]()
        asking = ("a", "a", "a", "a", "b", "b", "c")
        async with asyncio.TaskGroup() as group:
            for caller in asking:
                group.create_task(served(places, caller, order))
        assert places.taken == 0
        return order

    assert asyncio.run(three_callers()) == ["a", "a", "b", "c", "a", "b", "a"]


def test_whoever_goes_away_or_has_waited_enough_leaves_the_place_to_others() -> None:
    async def some_leave() -> int:
        places = SharedPlaces(1)
        assert places.take("a")
        with pytest.raises(TimeoutError):
            await places.wait("b", patience_s=0.01)
        leaving = asyncio.create_task(places.wait("b", patience_s=5))
        given = asyncio.create_task(places.wait("c", patience_s=5))
        late = asyncio.create_task(places.wait("d", patience_s=5))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.sleep(0)
        places.give_back("a")
        given.cancel()  # in the very moment in which it got its place
        with suppress(asyncio.CancelledError):
            await given
        await late
        return places.taken

    assert asyncio.run(some_leave()) == 1
