"""Do many things, a few at a time."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def each_in_flight(do: Callable[[T], R], items: Iterable[T], *, in_flight: int) -> Iterator[R]:
    """Do something with each item, at most ``in_flight`` at a time. Yield what comes of it, as it ends."""
    waiting = iter(items)
    pool = ThreadPoolExecutor(in_flight)
    try:
        flying: set[Future[R]] = set()
        while True:
            flying |= {pool.submit(do, item) for item in islice(waiting, in_flight - len(flying))}
            if not flying:
                return
            ended, flying = wait(flying, return_when=FIRST_COMPLETED)
            for future in ended:
                yield future.result()
    finally:
        # After an interrupt nobody waits for what is under way: closing the client ends those waits.
        pool.shutdown(wait=False, cancel_futures=True)
