"""A mill in this process, for unit tests of code that uses Querymill: no server, no worker process, no model.

>>> from querymill import ReportSearch
>>> from querymill.testing import MemoryMill
>>> with MemoryMill() as mill:
...     ...  # ingest, submit, follow and cancel as with Querymill

The contracts, flows and rules are the product's own, and so is the board, with its scripts: its server is simulated.
The stores are in memory. Words take the place of models: texts that share words are near each other, the judge counts
the words of the query, and an answer quotes the first passage. The extra ``testing`` has what simulates the server. The
package ``querymill-workers`` must be installed; it is found by its entry point.
"""

from importlib.metadata import entry_points
from typing import Any, Final

import redis

from querymill.client.board_transport import BoardTransport, ringing_after
from querymill.client.events.watch import Watch
from querymill.client.mill import Querymill
from querymill.extras import needing
from querymill_shared.board import ValkeyBoard, ValkeyWatchedBoard
from querymill_shared.contracts.errors import QuerymillError
from querymill_shared.settings import Settings

#: Where the workers name what `MemoryMill` runs on.
GROUP: Final = "querymill.testing"


class WorkersMissing(QuerymillError):
    """The flows that the mill in memory runs are not installed."""

    def __init__(self) -> None:
        super().__init__("MemoryMill runs the workers' own flows: install querymill-workers beside querymill")


class MemoryMill(Querymill):
    """`Querymill` without a server. Every instance is a world of its own; closing it ends it.

    Raises:
        NotInstalled: The extra ``testing`` is not installed.
        WorkersMissing: ``querymill-workers`` is not installed.
    """

    def __init__(self) -> None:
        found = next(iter(entry_points(group=GROUP, name="memory")), None)
        if found is None:
            raise WorkersMissing
        client = open_simulated()
        settings = Settings()
        board = ValkeyBoard(client, settings)
        workers: Any = found.load()(board)
        watch = Watch(lambda: SimulatedWatch(client))
        accept = ringing_after(board, workers)
        self._use(BoardTransport(board, accept, watch, place="memory", settings=settings, close=(workers.close,)))


def open_simulated() -> redis.Redis:
    """Open a client of a new server that is simulated in this process.

    Raises:
        NotInstalled: The extra ``testing`` is not installed.
    """
    with needing("testing", what="MemoryMill"):
        import fakeredis

        # Without this, the server can run no script, and says so at the first one only.
        import lupa  # noqa: F401
    server = fakeredis.FakeServer(server_type="valkey")
    return fakeredis.FakeRedis(server=server, decode_responses=True)


class SimulatedWatch(ValkeyWatchedBoard):
    """`ValkeyWatchedBoard` on a simulated server, which does not notice that a connection is closed."""

    def close(self) -> None:
        """Wake the listener, which waits in a thread of this process."""
        for waiting in self._client.client_list():
            self._client.client_unblock(int(waiting["id"]))
