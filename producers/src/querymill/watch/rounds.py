"""The loop of a follower: wait for changes and take them, through outages of the board, until it is stopped."""

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Protocol

from querymill.watch.changes import Changes, Roots
from querymill.watch.sessions import WatchReport
from querymill_shared.contracts.errors import Overloaded, Unavailable, detail_of

#: Seconds between two rounds at least, so that a file that changes all the time is read in pieces.
PAUSE_S: Final = 0.3
#: A round is followed by a pause as long as this thread worked for it, up to this many seconds: half of a processor
#: stays free. That it waited for its jobs is no reason to wait again.
MAX_PAUSE_S: Final = 5.0
#: Seconds after which all files are looked at, in case a change was not told.
LOOK_AGAIN_S: Final = 60.0
#: Seconds after which that is done at first: what changes before the system listens is not told.
SOON_S: Final = 2.0
#: Seconds after which a file is looked at again that could not be read, or was half written.
AGAIN_S: Final = 1.0
#: Seconds to wait for a board that is away, at first and at most.
AWAY_S, MAX_AWAY_S = 1.0, 30.0


class Follower(Protocol):
    """Something that can be followed: it knows its files, and takes those that have changed."""

    later: set[Path]

    def roots(self) -> Roots:
        """Return what is to be watched."""
        ...

    def everything(self) -> set[Path]:
        """Return the files that may have changed since they were taken."""
        ...

    def take(self, changed: Iterable[Path], told: WatchReport) -> None:
        """Take files that may have changed, and what is left of ``later``."""
        ...


def follow(
    follower: Follower, stop: threading.Event, tell: Callable[[WatchReport], None], remark: Callable[[str], None]
) -> None:
    """Follow until ``stop`` is set. Report every round that did something."""
    while not stop.is_set():
        roots = follower.roots()
        with Changes(roots, remark) as changes:
            changed = follower.everything()
            looked = time.monotonic() - LOOK_AGAIN_S + SOON_S
            while not stop.is_set():
                begun = time.thread_time()
                if changed or follower.later:
                    _take(follower, changed, stop, tell, remark)
                stop.wait(min(max(PAUSE_S, time.thread_time() - begun), MAX_PAUSE_S))
                changed = changes.wait(AGAIN_S)
                if time.monotonic() - looked > LOOK_AGAIN_S:
                    looked = time.monotonic()
                    changed |= follower.everything()
                    if follower.roots() != roots:
                        break  # a place appeared or disappeared: watch the present ones


def _take(
    follower: Follower,
    changed: set[Path],
    stop: threading.Event,
    tell: Callable[[WatchReport], None],
    remark: Callable[[str], None],
) -> None:
    """Take changes, as soon as the board is there."""
    away = AWAY_S
    while True:
        told, later = WatchReport(), set(follower.later)
        try:
            follower.take(changed, told)
        except (Unavailable, Overloaded) as error:
            follower.later = later
            remark(f"{detail_of(error)}; trying again in {away:.0f} s")
            if stop.wait(away):
                return
            away = min(away * 2, MAX_AWAY_S)
            continue
        except OSError as error:  # a file went while it was looked at
            follower.later = later | changed
            remark(str(error))
        if told.counts or told.failures or told.remarks:
            tell(told)
        return
