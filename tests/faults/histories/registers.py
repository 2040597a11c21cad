"""Whether reads and writes of one document are linearisable: as if each had happened in one moment while it ran.

The search is that of Wing and Gong (1993), with the memory of what was tried that Lowe (2017) added: an operation may
come next if none that is left ended before it began. No package of Python that is kept does this.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.faults.histories.operations import NEVER, Operation


class TooManyStates(Exception):
    """The search was given up: so many operations overlap that it would take too long."""


@dataclass(frozen=True, slots=True)
class Access:
    """A write of a value, or a read that saw it. None stands for no document.

    A write that ``may_be_void`` has perhaps never happened, as its job failed or nobody knows how it ended.
    """

    begin: float
    end: float
    value: str | None
    is_write: bool
    may_be_void: bool = False


def access_of(operation: Operation) -> Access:
    """Return what a write or a read does to its document.

    >>> access_of(Operation("a", "write", 1, 2, {"document": "d", "value": "x"}, {"state": "failed"})).may_be_void
    True
    """
    if operation.kind == "read":
        return Access(operation.begin, operation.end, operation.seen["value"], is_write=False)
    is_certain = operation.seen.get("state") == "done"
    # What is not known to be over may still happen.
    end = operation.end if is_certain else NEVER
    return Access(operation.begin, end, operation.argument["value"], is_write=True, may_be_void=not is_certain)


def is_linearisable(accesses: Sequence[Access], *, most_states: int = 1_000_000) -> bool:
    """Whether there is an order in which each read sees the write before it. The document is absent at first.

    Raises:
        TooManyStates: The search tried ``most_states`` states without an answer.
    """
    ordered = sorted(accesses, key=lambda access: access.begin)
    everything = (1 << len(ordered)) - 1
    void = sum(1 << place for place, access in enumerate(ordered) if access.may_be_void)
    tried: set[tuple[int, str | None]] = set()
    waiting: list[tuple[int, str | None]] = [(0, None)]
    while waiting:
        state = waiting.pop()
        done, value = state
        if done | void == everything:
            return True
        if state in tried:
            continue
        tried.add(state)
        if len(tried) > most_states:
            raise TooManyStates(f"{len(ordered)} operations, {most_states} states")
        waiting += _followers(ordered, done, value)
    return False


def _followers(ordered: Sequence[Access], done: int, value: str | None) -> list[tuple[int, str | None]]:
    """Return the states after each operation that may come next."""
    left = [(place, access) for place, access in enumerate(ordered) if not done >> place & 1]
    first_end = min(access.end for _, access in left)
    followers = []
    for place, access in left:
        if access.begin > first_end:
            break
        if access.is_write:
            followers.append((done | 1 << place, access.value))
        elif access.value == value:
            # A read that fits changes nothing, so no other order can gain by leaving it for later.
            return [(done | 1 << place, value)]
    return followers
