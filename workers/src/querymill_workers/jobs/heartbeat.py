"""The heartbeat of a worker process: one sign of life for all the steps that it holds.

A process has a *life*: its name, which stays the same when it is started again, and a random part, which does not.
While it beats, nobody takes over its steps. When it falls silent for as long as a lease, any other process buries it,
and its steps wait for another attempt. A process that starts under the name of a dead one buries that one at once.
"""

import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib.metadata import version
from pathlib import Path
from uuid import uuid4

import structlog

from querymill_shared.board import Board, Claim, WorkerLife

_log = structlog.get_logger(__name__)

#: Beats per lease. Seven may be late before a process is taken for dead.
BEATS_PER_LEASE = 8
#: A process of this name on another host, or in another container, is dead if it was silent for this long (s).
FORMER_SILENT_S = 1.5
#: A starting process looks for its former lives for this long (s).
LOOK_BACK_S = 10.0
#: A process looks this often (s) for steps that it holds without knowing.
LOOK_FOR_LOST_S = 10.0
#: A beat that has waited for the board for longer than this (s) is stuck: every wait of a connection ends before.
MAX_BEAT_S = 60.0
#: A step held for longer is renewed this often (s), before its lease ends.
RENEW_EVERY_S = 20.0


class HeartbeatThread:
    """Reports that this process lives, releases what dead processes held, those that do not, from one thread."""

    def __init__(self, board: Board, *, name: str, lease_s: float) -> None:
        self._board = board
        self._name = name
        self._life = f"{name}#{uuid4().hex[:8]}"
        self._period_s = lease_s / BEATS_PER_LEASE
        self._about = {
            "name": name, "host": this_host(), "pid": os.getpid(), "queues": [], "slots": 0, "started": time.time(),
            "release": version("querymill-workers"),
        }  # fmt: skip
        self._count_busy: Callable[[], int] | None = None
        self._kept: dict[tuple[str, str, int], tuple[Claim, float]] = {}
        self._lock = threading.Lock()
        self._began_at: float | None = None
        self._heard_at = math.inf
        self._turned_at, self._beats_since = time.monotonic(), math.inf
        self._judges_from = -math.inf
        self._looks_at = -math.inf
        self._stopping = threading.Event()

    @property
    def life(self) -> str:
        """The life that holds the claims of this process. If the board is up, it knows this life already."""
        self.begin()
        return self._life

    @property
    def is_beating(self) -> bool:
        """Whether the last beat was tried within two leases, or is being tried. A board that is away is no matter."""
        now = time.monotonic()
        if self._beats_since < now:
            return now - self._beats_since < MAX_BEAT_S
        return now - self._turned_at < 2 * self._period_s * BEATS_PER_LEASE

    def begin(self) -> None:
        """Report this process, and release its former lives. Further calls do nothing."""
        with self._lock:
            if self._began_at is not None:
                return
            self._began_at = time.monotonic()
        self._beat_safely()
        threading.Thread(target=self._run, name="heartbeat", daemon=True).start()

    def describe(
        self, *, queues: Sequence[str], slots: int, spare: int = 0, writes: bool = False,
        count_busy: Callable[[], int] | None = None,
    ) -> None:  # fmt: skip
        """Report which queues this process serves, how many steps it runs at once, and with each beat how many now.

        Report also how many ``spare`` threads let the bells of collections with few past, and whether a chat model
        ``writes`` answers for it.
        """
        self._about = self._about | {"queues": list(queues), "slots": slots, "spare": spare, "writes": writes}
        self._count_busy = count_busy
        self._beat_safely()

    def end(self) -> None:
        """Stop beating, and put back at once what is still held."""
        self._stopping.set()
        if self._began_at is not None:
            self._board.release_life(self._life, planned=True)

    @contextmanager
    def keep(self, claim: Claim) -> Iterator[None]:
        """Renew a claim that takes long, until the block ends."""
        name = (claim.job_id, claim.step, claim.attempt)
        with self._lock:
            self._kept[name] = (claim, time.monotonic())
        try:
            yield
        finally:
            with self._lock:
                del self._kept[name]

    def _run(self) -> None:
        while not self._stopping.wait(self._period_s):
            self._beat_safely()

    def _beat_safely(self) -> None:
        self._beats_since = time.monotonic()
        try:
            self._beat()
        except Exception as error:  # noqa: BLE001  # the board may be back at the next beat
            _log.warning("heartbeat missed", error=type(error).__name__)
        self._turned_at, self._beats_since = time.monotonic(), math.inf

    def _beat(self) -> None:
        busy = {} if self._count_busy is None else {"busy": self._count_busy()}
        silent = self._board.beat(self._life, self._about | busy | {"clock": time.time()})
        if self._may_judge():
            for life in silent:
                self._release_dead(life)
        if time.monotonic() - (self._began_at or 0.0) < LOOK_BACK_S:
            for worker in self._board.workers():
                if worker.name == self._name and worker.life != self._life and is_dead(worker):
                    self._release_dead(worker.life)
        for claim in self._to_renew():
            self._board.extend(claim)
        self._put_back_lost()

    def _may_judge(self) -> bool:
        """Whether the silence of others means that they died.

        After the board was away, or this process stood still, the first to beat again would take all others for dead.
        They have as long as a lease to be heard.
        """
        now, lease_s = time.monotonic(), self._period_s * BEATS_PER_LEASE
        if now - self._heard_at >= lease_s:
            self._judges_from = now + lease_s
        self._heard_at = now
        return now >= self._judges_from

    def _release_dead(self, life: str) -> None:
        if life != self._life:
            _log.warning(
                "released the steps of a worker that died", life=life, steps=len(self._board.release_life(life))
            )

    def _put_back_lost(self) -> None:
        """Put back claims whose replies never came: nobody else takes over what a living process holds."""
        if time.monotonic() < self._looks_at:
            return
        self._looks_at = time.monotonic() + LOOK_FOR_LOST_S
        with self._lock:
            kept = [claim for claim, _ in self._kept.values()]
        # A claim of this moment may not be kept yet.
        lost = self._board.put_back_lost(self._life, kept, held_for_s=self._period_s * BEATS_PER_LEASE)
        if lost:
            _log.warning("put back steps whose claims were lost on the way", steps=len(lost))

    def _to_renew(self) -> list[Claim]:
        now = time.monotonic()
        with self._lock:
            due = {name: claim for name, (claim, at) in self._kept.items() if now - at >= RENEW_EVERY_S}
            self._kept |= {name: (claim, now) for name, claim in due.items()}
        return list(due.values())


class NoHeartbeat:
    """A heartbeat that reports nothing: the only thread that could take over the step is the one that runs it."""

    life = ""

    def keep(self, claim: Claim) -> nullcontext[None]:  # noqa: ARG002  # the port's signature
        """Do nothing."""
        return nullcontext()


def is_dead(former: WorkerLife) -> bool:
    """Tell whether a process that had this process's name is gone.

    On this host its process id tells. Two living processes may share a name by mistake: then neither is dead.
    """
    if former.host != this_host():
        return former.beat_age_s >= FORMER_SILENT_S
    if former.pid == os.getpid():
        return True  # this process got its id
    try:
        os.kill(former.pid, 0)
    except ProcessLookupError:
        return former.pid > 0
    except OSError:
        return False  # it belongs to another user
    return False


def this_host() -> str:
    """Return what tells apart hosts and containers: only within one does a process id name a process."""
    try:
        return f"{socket.gethostname()} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()
