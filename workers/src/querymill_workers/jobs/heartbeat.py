"""The heartbeat keeps the leases of this process's running steps alive."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import structlog

from querymill_shared.board import Board, Claim

_log = structlog.get_logger(__name__)


class Heartbeat:
    """Renews every claim three times per lease, from one thread for the whole process."""

    def __init__(self, board: Board, *, lease_s: float) -> None:
        self._board = board
        self._period_s = lease_s / 3
        self._kept: dict[tuple[str, str, int], Claim] = {}
        self._lock = threading.Lock()
        self._beating: threading.Thread | None = None

    @contextmanager
    def keep(self, claim: Claim) -> Iterator[None]:
        """Renew a claim's lease until the block ends."""
        name = (claim.job_id, claim.step, claim.attempt)
        with self._lock:
            self._kept[name] = claim
            if self._beating is None:
                self._beating = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
                self._beating.start()
        try:
            yield
        finally:
            with self._lock:
                del self._kept[name]

    def _beat(self) -> None:
        pause = threading.Event()
        while not pause.wait(self._period_s):
            with self._lock:
                kept = list(self._kept.values())
            for claim in kept:
                try:
                    self._board.extend(claim)
                except Exception as error:  # noqa: BLE001  # the board may be back at the next beat
                    _log.warning("heartbeat missed", job_id=claim.job_id, error=type(error).__name__)


class NoHeartbeat:
    """A heartbeat that renews no lease: the only thread that could take over the step is the one that runs it."""

    def keep(self, claim: Claim) -> nullcontext[None]:  # noqa: ARG002  # the port's signature
        """Do nothing."""
        return nullcontext()
