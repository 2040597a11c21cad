"""The job board: the record of every job, in Redis or Valkey (see ADR 1 in this folder)."""

from querymill_shared.board.attempts import Attempt, AttemptOutcome, AttemptPart
from querymill_shared.board.counts import JobCounts, Latency
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
from querymill_shared.board.protocol import Board
from querymill_shared.board.valkey import ValkeyBoard
from querymill_shared.board.valkey_async import AsyncValkeyBoard
from querymill_shared.board.valkey_watching import ValkeyWatchedBoard
from querymill_shared.board.watching import Listener, Seen, StreamedEvent, Subscription, WatchedBoard

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
