"""A mill in memory, for unit tests of code that uses Querymill: no server, no worker process, no model.

>>> from querymill import ReportSearch
>>> from querymill.testing import MemoryMill
>>> with MemoryMill() as mill:
...     ...  # ingest, submit, follow and cancel as with Querymill

The contracts, flows and rules are the product's own. The board and the stores are in memory. Words take the place of
models: texts that share words are near each other, the judge counts the words of the query, and an answer quotes the
first passage. The package ``querymill-workers`` must be installed; it is found by its entry point.
"""

from importlib.metadata import entry_points
from typing import Any, Final

from querymill.client.events.watch import Watch
from querymill.client.mill import Querymill, ringing_after
from querymill_shared.board import MemoryBoard, MemoryWatchedBoard
from querymill_shared.contracts.errors import QuerymillError

#: Where the workers name what `MemoryMill` runs on.
GROUP: Final = "querymill.testing"


class WorkersMissing(QuerymillError):
    """The flows that the mill in memory runs are not installed."""

    def __init__(self) -> None:
        super().__init__("MemoryMill runs the workers' own flows: install querymill-workers beside querymill")


class MemoryMill(Querymill):
    """`Querymill` without a server. Every instance is a world of its own; closing it ends it.

    Raises:
        WorkersMissing: ``querymill-workers`` is not installed.
    """

    def __init__(self) -> None:
        found = next(iter(entry_points(group=GROUP, name="memory")), None)
        if found is None:
            raise WorkersMissing
        workers: Any = found.load()()
        board: MemoryBoard = workers.ports.board
        watch = Watch(lambda: MemoryWatchedBoard(board))
        self._use(board, ringing_after(board, workers), watch, close=(workers.close,))
