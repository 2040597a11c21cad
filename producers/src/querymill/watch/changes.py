"""Which files change: told by the system where it can, found by looking where it cannot."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from watchfiles import Change, watch

#: Milliseconds for which changes are gathered at most, and without one of which they are handed on.
_GATHER_MS, _QUIET_MS = 300, 50
#: How often files are looked at where the system does not tell, in milliseconds.
LOOK_MS: Final = 2_000
#: How long the thread that listens may take to notice that it should stop, in milliseconds.
_STOP_MS: Final = 300


@dataclass(frozen=True, slots=True)
class Roots:
    """What is watched: ``folders`` with all that is below them, and of ``near`` folders only the files in them."""

    folders: frozenset[Path] = frozenset()
    near: frozenset[Path] = frozenset()

    @classmethod
    def of(cls, paths: Iterable[Path]) -> Self:
        """Return the roots of paths. A file is watched by its folder, as a program may put another in its place."""
        found = list(paths)
        folders = frozenset(path for path in found if path.is_dir())
        return cls(folders, frozenset(path.parent for path in found if path not in folders))

    def __or__(self, other: "Roots") -> "Roots":
        return Roots(self.folders | other.folders, self.near | other.near)


@dataclass(slots=True)
class Changes:
    """The files below some roots that have changed since they were asked for last.

    Where the system cannot ``watch`` so many files, they are polled every ``look_ms``, and ``tell`` gets the reason.
    """

    roots: Roots
    tell: Callable[[str], None]
    watch: Callable[..., Iterator[set[tuple[Change, str]]]] = watch
    look_ms: int = LOOK_MS
    _changed: set[Path] = field(default_factory=set)
    _news: threading.Condition = field(default_factory=threading.Condition)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Self:
        for paths, recursive in ((self.roots.folders, True), (self.roots.near - self.roots.folders, False)):
            if paths:
                thread = threading.Thread(
                    target=self._listen, args=(sorted(paths),), kwargs={"recursive": recursive}, daemon=True
                )
                thread.start()
                self._threads.append(thread)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=10)

    def wait(self, seconds: float) -> set[Path]:
        """Wait until a file changes, for some seconds at most, and return those that have changed."""
        with self._news:
            if not self._changed:
                self._news.wait(seconds)
            changed, self._changed = self._changed, set()
        return changed

    def wake(self) -> None:
        """Wake the waiting thread."""
        with self._news:
            self._news.notify_all()

    def _listen(self, paths: list[Path], *, recursive: bool) -> None:
        try:
            self._hear(paths, recursive=recursive, looking=False)
        except (OSError, RuntimeError) as error:  # the limits of the system, such as that of inotify
            self.tell(
                f"the system cannot watch these files ({error}); they are looked at every {self.look_ms / 1000:g} s"
            )
            with suppress(FileNotFoundError):
                self._hear(paths, recursive=recursive, looking=True)

    def _hear(self, paths: list[Path], *, recursive: bool, looking: bool) -> None:
        for changes in self.watch(
            *paths, watch_filter=None, debounce=_GATHER_MS, step=_QUIET_MS, stop_event=self._stop,
            rust_timeout=_STOP_MS, raise_interrupt=False, force_polling=looking, poll_delay_ms=self.look_ms,
            recursive=recursive, ignore_permission_denied=True,
        ):  # fmt: skip
            with self._news:
                self._changed.update(Path(path) for _, path in changes)
                self._news.notify_all()
