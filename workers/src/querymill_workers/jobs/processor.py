"""The processor time of a step: that of its own thread, and of the threads in which its calls of providers are made."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TypeVar

from querymill_shared.contracts.jobs import JobRequest

T = TypeVar("T")
#: Adds an amount to a counter of the fleet.
Count = Callable[[str, float], None]


def uncounted(name: str, amount: float) -> None:
    """Count nothing."""


_SPEND: ContextVar[Callable[[float], None] | None] = ContextVar("spend", default=None)


@contextmanager
def charged_to(request: JobRequest, count: Count) -> Iterator[None]:
    """Count the processor time of a block, in ms, for the kind and the lane of a request."""
    with _charged(partial(count, f"processor_ms/{request.kind}/{request.lane}")):
        yield


def charged(call: Callable[[], T]) -> T:
    """Make a call in a thread of its own. Its processor time is counted for the step of the context, if it has one."""
    spend = _SPEND.get()
    if spend is None:
        return call()
    with _charged(spend):
        return call()


@contextmanager
def _charged(spend: Callable[[float], None]) -> Iterator[None]:
    token, began = _SPEND.set(spend), time.thread_time()
    try:
        yield
    finally:
        spend((time.thread_time() - began) * 1000)
        _SPEND.reset(token)
