"""The job board: the record of every job, in Redis or Valkey (see ADR 1 in this folder)."""

from querymill_shared.board.memory import MemoryBoard
from querymill_shared.board.picture import Claim, Due, Outcome, Picture, Record, Step, Verdict
from querymill_shared.board.protocol import Board
from querymill_shared.board.valkey import AsyncValkeyBoard, ValkeyBoard

__all__ = [
    "AsyncValkeyBoard",
    "Board",
    "Claim",
    "Due",
    "MemoryBoard",
    "Outcome",
    "Picture",
    "Record",
    "Step",
    "ValkeyBoard",
    "Verdict",
]
