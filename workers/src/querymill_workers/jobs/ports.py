"""What every flow may touch, whatever its kind; each retriever adds its own to it."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from querymill_shared.board import Board
from querymill_workers.jobs.bell import Heartbeat


class Common(Protocol):
    """The board, and what keeps time. ``clock`` gives monotonic seconds."""

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
    """A store whose collections can be searched: clients ask the board which there are."""

    @property
    def kind(self) -> str:
        """Name the kind of search that its collections answer."""
        ...

    def collections(self) -> Sequence[str]:
        """List the collections that hold something."""
        ...
