"""Announce the stored collections to the board. A search of a collection that the board does not know is rejected."""

import random
import threading
from collections.abc import Sequence
from dataclasses import fields

import structlog

from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.ports import Announces

_log = structlog.get_logger(__name__)

#: How long a starting worker waits for its stores to list their collections, in seconds. A slower store finishes in
#: the background.
WAIT_S = 2.0
#: How often a worker looks whether the board still knows the collections, in seconds. It costs one command.
LOOK_S = 2.0


def announcing_stores(ports: Ports) -> Sequence[Announces]:
    """Return the stores whose collections can be searched: those of documents, and those of a flat that has none."""
    adapters = [getattr(ports, field.name) for field in fields(ports)]
    return [*ports.documents.values(), *(adapter for adapter in adapters if isinstance(adapter, Announces))]


def announce_all(ports: Ports) -> None:
    """Announce every collection to the board, which may have been emptied.

    Each store has a thread of its own, so an unreachable store does not delay the others. Its own jobs will fail.
    """
    threads = [
        threading.Thread(target=announce, args=(store, ports), name=f"announce {store.kind}", daemon=True)
        for store in announcing_stores(ports)
    ]
    for thread in threads:
        thread.start()
    until = ports.clock() + WAIT_S
    for thread in threads:
        thread.join(max(0.0, until - ports.clock()))


def announce(store: Announces, ports: Ports) -> None:
    """Announce the collections of one store."""
    try:
        ports.board.announce(store.kind, store.collections())
    except Exception as error:  # noqa: BLE001  # the other stores have collections too
        _log.warning("a store does not respond: its jobs will fail", kind=store.kind, error=type(error).__name__)


class Announcer:
    """Announces again, in a background thread, what the board does not know: it lost its data, or a store was away."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._stopping = threading.Event()

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="announcer", daemon=True).start()

    def stop(self) -> None:
        """Stop looking."""
        self._stopping.set()

    def look(self) -> None:
        """Announce the collections of each kind of which the board has no record."""
        for store in announcing_stores(self._ports):
            if self._ports.board.unannounced([store.kind]):
                announce(store, self._ports)

    def _run(self) -> None:
        # The workers look at different times, so that one of them lists the collections and the others find them.
        while not self._stopping.wait(random.uniform(0.5, 1.5) * LOOK_S):  # noqa: S311  # no secret
            try:
                if self._ports.board.unannounced([store.kind for store in announcing_stores(self._ports)]):
                    self.look()
            except Exception as error:  # noqa: BLE001  # the board may be back at the next look
                _log.warning("could not look for collections", error=type(error).__name__)
