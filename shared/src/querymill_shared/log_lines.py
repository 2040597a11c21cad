"""What the log lines of every process have in common: no message of an exception, one line a warning, UTC."""

import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any


def utc_time(seconds: float) -> str:
    """Return a time, in seconds since the epoch, in ISO format."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def one_line(message: object) -> str:
    """Return a message without line breaks."""
    return " ".join(str(message).split())


def causes(error: BaseException) -> list[BaseException]:
    """Return an exception and its causes, in the order in which they were raised."""
    chain: list[BaseException] = []
    known: BaseException | None = error
    while known is not None and known not in chain:
        chain.append(known)
        known = known.__cause__ or (None if known.__suppress_context__ else known.__context__)
    return chain[::-1]


def type_of(error: BaseException) -> str:
    """Return the type of an exception, with the database's error code if it has one."""
    state = getattr(error, "sqlstate", None)
    return type(error).__name__ + (f" (SQLSTATE {state})" if state else "")


def types_and_places(error: BaseException) -> list[str]:
    """Return the types, causes and places of an exception. Its message is left out, because it may quote user text."""
    return [line for cause in causes(error) for line in (*frames(cause), type_of(cause))]


def frames(error: BaseException) -> Iterator[str]:
    """Yield the lines of code that an exception passed through."""
    for frame in traceback.extract_tb(error.__traceback__):
        yield f"{frame.filename}:{frame.lineno} {frame.name}"


def log_instead_of_printing(warn: Callable[[str, str], object], break_: Callable[[BaseException], object]) -> None:
    """Pass each warning with its category, and the exception that ends the process, to functions that log them."""

    def show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        warn(one_line(message), category.__name__)

    def end_process(_: Any, error: BaseException, __: Any) -> None:
        if not isinstance(error, KeyboardInterrupt):
            break_(error)

    warnings.showwarning = show_warning
    sys.excepthook = end_process
