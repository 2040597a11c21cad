"""The versions of writes: the order in which the board accepted them, whatever its server's clock does.

A server that was started may have lost its last writes or all of them, or be another one with another clock. So a write
that is accepted then is begun only after a worker has looked for larger versions in the stores.
"""

from collections.abc import Callable
from typing import Final

from querymill_shared.board import keys
from querymill_shared.board.calls import ScriptCall, VersionUnknown

#: Waits until what a connection has written is in the server's log on its disk, for at most two seconds. A server that
#: keeps no such log refuses it, and a cluster cannot be asked: nobody says which of its servers is meant.
ON_DISK: Final = ("WAITAOF", 1, 0, 2_000)
#: What it answers when the disk was slower than that.
NOT_ON_DISK: Final = [[0, 0]]
#: Asked with a number (µs), returns one that no version of an earlier write is above. If none is above the number asked
#: with, it may return less, such as 0.
LargestStored = Callable[[int], int]


def nothing_stored(at_least_us: int) -> int:  # noqa: ARG001
    """Return 0, as for a board beside which nothing is stored."""
    return 0


def doubt() -> ScriptCall[bool]:
    """Note that the server may have been started since the last write."""
    return ScriptCall("doubt", [keys.CLOCK], [], bool)


def decide(asked: VersionUnknown, largest_us: int) -> ScriptCall[int]:
    """Give all writes since the question was asked versions above the largest that is stored, in the same order.

    Returns the number up to which versions are decided.
    """
    return ScriptCall("decide", [keys.CLOCK], [largest_us, asked.number], int)


def confirm(decided: int) -> ScriptCall[bool]:
    """Let the writes begin whose versions were decided, up to a number: the decision is on the server's disk."""
    return ScriptCall("confirm", [keys.CLOCK], [decided], bool)
