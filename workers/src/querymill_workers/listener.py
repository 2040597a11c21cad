"""The thread of a worker process that takes bells, from wherever they are."""

import threading
from abc import ABC, abstractmethod
from typing import Final

import structlog

from querymill_workers import logs, wiring

_log = structlog.get_logger(__name__)

#: The wait after what carries the bells failed, in seconds.
RETRY_S: Final = 1.0


class Listener(ABC):
    """Takes bells in a thread, and begins again after each failure, for as long as the process runs."""

    #: What carries the bells, in log lines.
    source = "broker"

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._failure = ""

    @abstractmethod
    def listen(self) -> None:
        """Take bells for a moment, over a connection that is opened if there is none."""

    @abstractmethod
    def hang_up(self) -> None:
        """Drop the connection. Never raises."""

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="listener", daemon=True).start()

    def stop(self) -> None:
        """Take no more bells. One that is being fetched is still answered."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self.listen()
            except Exception as error:  # noqa: BLE001  # the broker may be back soon
                self.hang_up()
                self._tell(error)
                self._stopping.wait(RETRY_S)
            else:
                if self._failure:
                    _log.info("bells are fetched again", source=self.source)
                self._failure = ""
        self.hang_up()

    def _tell(self, error: Exception) -> None:
        """Log a failure, but not again and again."""
        if self._failure != type(error).__name__:
            self._failure = type(error).__name__
            detail = wiring.settings().mask_secrets(str(error))[: logs.MAX_DETAIL_CHARS]
            _log.warning("cannot fetch bells", source=self.source, error=self._failure, detail=detail)
