"""Calls that outlive their callers.

A provider keeps working on a call after its caller has left, and charges for it. So the call is made in a thread of
its own: what it returns too late for its caller is still kept for the next one, and how it ended is still reported.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import TypeVar

from querymill_workers.jobs.processor import charged

T = TypeVar("T")
U = TypeVar("U")


def carry(call: Callable[[], T], *, name: str) -> "Future[T]":
    """Start a call in a thread of its own, which does not keep the process from ending.

    It runs in the caller's context: its span, what it costs and its processor time belong to the caller's step.
    """
    carried: Future[T] = Future()
    context = copy_context()

    def run() -> None:
        try:
            value = context.run(charged, call)
        except BaseException as error:  # noqa: BLE001  # who waits for the call must learn of it
            carried.set_exception(error)
        else:
            carried.set_result(value)

    threading.Thread(target=run, name=name, daemon=True).start()
    return carried


def then(first: "Future[T]", change: Callable[[T], U]) -> "Future[U]":
    """Return the future of a value that is made from another future's value. It fails if the other does."""
    second: Future[U] = Future()

    def pass_on(done: "Future[T]") -> None:
        try:
            second.set_result(change(done.result()))
        except Exception as error:  # noqa: BLE001  # as above
            second.set_exception(error)

    first.add_done_callback(pass_on)
    return second
