"""Work in the background of a store, in a thread that ends when there is nothing more to do."""

import threading
import time
from collections.abc import Callable
from typing import Final

import structlog

_log = structlog.get_logger(__name__)

#: How long work waits, in seconds, so that the transaction that asked for it can end, and others that are near.
WAIT_S: Final = 2.5


class Upkeep:
    """Runs ``work`` until it returns False, in one thread at a time."""

    def __init__(self, work: Callable[[], bool]) -> None:
        self._work = work
        self._is_awake = threading.Lock()

    def wake(self) -> None:
        """Begin, unless the work is under way."""
        if self._is_awake.acquire(blocking=False):
            threading.Thread(target=self._run, name="upkeep", daemon=True).start()

    def _run(self) -> None:
        try:
            time.sleep(WAIT_S)
            while self._work():
                pass
        except Exception as error:  # noqa: BLE001  # the next who wakes it, or the sweeper, has it done
            _log.info("upkeep is put off", error=type(error).__name__)
        finally:
            self._is_awake.release()
