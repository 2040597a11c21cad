"""A background thread that is replaced when it hangs."""

import sys
import threading
import time
import traceback
from collections.abc import Callable

import structlog

_log = structlog.get_logger(__name__)

#: A thread whose turn takes longer than this hangs, in seconds.
HANGS_AFTER_S = 10.0
#: How often a thread is looked after, and how long one that raised waits before its next turn, in seconds.
LOOK_EVERY_S, AFTER_AN_ERROR_S = 1.0, 0.5


class WatchedThread:
    """Takes one turn after the other in a thread, and begins another thread in the place of one that hangs.

    ``turn`` returns how many seconds to wait before the next one. A thread that was replaced ends after its turn, so
    for as long two of them may run.
    """

    def __init__(
        self,
        name: str,
        turn: Callable[[], float],
        *,
        hangs_after_s: float = HANGS_AFTER_S,
        look_every_s: float = LOOK_EVERY_S,
    ) -> None:
        self._name = name
        self._turn = turn
        self._hangs_after_s = hangs_after_s
        self._look_every_s = look_every_s
        self._stopping = threading.Event()
        self._begun = 0
        self._turned_at = time.monotonic()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, and another that looks after it."""
        self._begin()
        threading.Thread(target=self._look_after, name=f"{self._name} watchdog", daemon=True).start()

    def stop(self) -> None:
        """Take no further turn."""
        self._stopping.set()

    def _begin(self) -> None:
        self._begun += 1
        self._turned_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, args=(self._begun,), name=self._name, daemon=True)
        self._thread.start()

    def _run(self, number: int) -> None:
        pause = 0.0
        while not self._stopping.wait(pause) and number == self._begun:
            self._turned_at = time.monotonic()
            try:
                pause = self._turn()
            except Exception as error:  # noqa: BLE001  # the next turn may succeed
                _log.warning("a background thread raised", thread=self._name, exc_info=error)
                pause = AFTER_AN_ERROR_S

    def _look_after(self) -> None:
        while not self._stopping.wait(self._look_every_s):
            silent_s = time.monotonic() - self._turned_at
            if silent_s >= self._hangs_after_s:
                _log.error("a background thread hangs: it is replaced", thread=self._name, at=self._place())
                self._begin()

    def _place(self) -> list[str]:
        """Return where the thread hangs: files, lines and functions, the innermost last."""
        frame = None if self._thread is None else sys._current_frames().get(self._thread.ident or 0)  # noqa: SLF001  # documented
        stack = [] if frame is None else traceback.extract_stack(frame)
        return [f"{place.filename.rpartition('/')[2]}:{place.lineno} {place.name}" for place in stack[-6:]]
