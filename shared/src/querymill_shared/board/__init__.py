"""The job board: the record of every job, in Redis or Valkey (see ADR 1 in this folder).

What needs the server's client is imported when it is first used: a program that uses HTTP alone installs none.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from querymill_shared.board.attempts import Attempt, AttemptOutcome, AttemptPart
from querymill_shared.board.endings import OnEnd
from querymill_shared.board.foreseeing import foresee
from querymill_shared.board.picture import (
    CANCELLED,
    Cause,
    Claim,
    Claims,
    Due,
    Ended,
    Outcome,
    Picture,
    Record,
    SetbackCounts,
    Step,
    Verdict,
    WorkerLife,
)
from querymill_shared.board.watching import Listener, Seen, StreamedEvent, Subscription, WatchedBoard

if TYPE_CHECKING:
    from querymill_shared.board.counts import JobCounts, Latency
    from querymill_shared.board.protocol import Board
    from querymill_shared.board.valkey import ValkeyBoard
    from querymill_shared.board.valkey_async import AsyncValkeyBoard
    from querymill_shared.board.valkey_watching import ValkeyWatchedBoard

__all__ = [
    "CANCELLED",
    "AsyncValkeyBoard",
    "Attempt",
    "AttemptOutcome",
    "AttemptPart",
    "Board",
    "Cause",
    "Claim",
    "Claims",
    "Due",
    "Ended",
    "JobCounts",
    "Latency",
    "Listener",
    "OnEnd",
    "Outcome",
    "Picture",
    "Record",
    "Seen",
    "SetbackCounts",
    "Step",
    "StreamedEvent",
    "Subscription",
    "ValkeyBoard",
    "ValkeyWatchedBoard",
    "Verdict",
    "WatchedBoard",
    "WorkerLife",
    "foresee",
]

#: The modules of the names that need the server's client.
_NEEDING_CLIENT: Final = {
    "AsyncValkeyBoard": "valkey_async",
    "Board": "protocol",
    "JobCounts": "counts",
    "Latency": "counts",
    "ValkeyBoard": "valkey",
    "ValkeyWatchedBoard": "valkey_watching",
}


def __getattr__(name: str) -> Any:
    """Import a name that needs the server's client."""
    if name not in _NEEDING_CLIENT:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_NEEDING_CLIENT[name]}"), name)
    globals()[name] = found
    return found
