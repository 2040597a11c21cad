"""The part of the world that every flow may touch. Each retriever adds its own stores and models to it."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from querymill_shared.board import Board
from querymill_workers.jobs.bell import Heartbeat


class Common(Protocol):
    """The board, the heartbeat and the clock, which gives monotonic seconds."""

    @property
    def board(self) -> Board: ...

    @property
    def heartbeat(self) -> Heartbeat: ...

    @property
    def clock(self) -> Callable[[], float]: ...

    @property
    def max_attempts(self) -> int: ...


@runtime_checkable
class Announces(Protocol):
    """A store whose collections can be searched. Workers announce them on the board, where clients look them up."""

    @property
    def kind(self) -> str:
        """Return the kind of search that its collections serve."""
        ...

    def collections(self) -> Sequence[str]:
        """Return the names of the collections that are not empty."""
        ...
