"""Several followers as one, for folders that hold files of several kinds."""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from pathlib import Path

from querymill.watch.changes import Roots
from querymill.watch.rounds import Follower
from querymill.watch.sessions import WatchReport


class Several:
    """Followers that are each given all changes."""

    def __init__(self, followers: Sequence[Follower]) -> None:
        self._followers = followers

    @property
    def later(self) -> set[Path]:
        """The files that are looked at again."""
        return set().union(*(follower.later for follower in self._followers))

    @later.setter
    def later(self, paths: set[Path]) -> None:
        for follower in self._followers:
            follower.later = set(paths)

    def roots(self) -> Roots:
        """Return what is to be watched."""
        return reduce(or_, (follower.roots() for follower in self._followers))

    def everything(self) -> set[Path]:
        """Return the files that may have changed since they were taken."""
        return set().union(*(follower.everything() for follower in self._followers))

    def take(self, changed: Iterable[Path], told: WatchReport) -> None:
        """Take files that may have changed."""
        for follower in self._followers:
            follower.take(changed, told)
