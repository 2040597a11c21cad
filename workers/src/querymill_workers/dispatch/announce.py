"""Making known what can be searched: whoever asks for a collection that the board does not know is refused."""

import threading
from collections.abc import Sequence
from dataclasses import fields

import structlog

from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.ports import Announces

_log = structlog.get_logger(__name__)

#: How long a starting worker waits for its stores to name their collections, in seconds; a slower one goes on alone.
PATIENCE_S = 2.0


def announcing(ports: Ports) -> Sequence[Announces]:
    """List the stores whose collections are searched."""
    adapters = [getattr(ports, field.name) for field in fields(ports)]
    return [adapter for adapter in adapters if isinstance(adapter, Announces)]


def announce_all(ports: Ports) -> None:
    """Make every collection known to the board, which may have been emptied.

    Each store is asked by itself: one that is away holds up no other, and its kind's jobs fail by themselves.
    """
    threads = [
        threading.Thread(target=announce, args=(store, ports), name=f"announce {store.kind}", daemon=True)
        for store in announcing(ports)
    ]
    for thread in threads:
        thread.start()
    until = ports.clock() + PATIENCE_S
    for thread in threads:
        thread.join(max(0.0, until - ports.clock()))


def announce(store: Announces, ports: Ports) -> None:
    """Make the collections of one store known."""
    try:
        ports.board.add_collections(store.kind, store.collections())
    except Exception as error:  # noqa: BLE001  # whatever it was, the other stores have collections too
        _log.warning("a store does not answer: its jobs will fail", kind=store.kind, error=type(error).__name__)
