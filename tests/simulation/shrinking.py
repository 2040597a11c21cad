"""Find the least plan that still breaks the same promise."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.simulation.plans import Plan

#: Called with a plan; returns the promises that it breaks.
Breaks = Callable[[Plan], set[str]]


def shrunk(plan: Plan, promise: str, breaks: Breaks) -> Plan:
    """Return a plan from which nothing more can be taken: no ask, no fault, no worker."""
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for candidate in _smaller(plan):
            if promise in breaks(candidate):
                plan, is_smaller = candidate, True
                break
    return plan


def _smaller(plan: Plan) -> Iterator[Plan]:
    for place in reversed(range(len(plan.faults))):
        yield plan.without_faults({place})
    for place in reversed(range(len(plan.asks))):
        if len(plan.asks) > 1:
            yield plan.without_asks({place})
    if plan.workers > 1:
        yield replace(plan, workers=plan.workers - 1)
    if plan.slots > 1:
        yield replace(plan, slots=1)
    for place, ask in enumerate(plan.asks):
        if ask.follows or ask.key:
            asks = [*plan.asks[:place], replace(ask, follows=False, key=None), *plan.asks[place + 1 :]]
            yield replace(plan, asks=asks)
