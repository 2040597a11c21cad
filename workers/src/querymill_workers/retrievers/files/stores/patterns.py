"""Patterns that users write, run by RE2: time linear in the text, whatever the pattern."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Self

import re2
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from querymill_workers.jobs.faults import Refused, Unreadable
from querymill_workers.retrievers.files.ports import PatternHit, PatternHits

MAX_PATTERN_CHARS: Final = 1_000
#: Memory that one pattern may take, in bytes.
MAX_PATTERN_BYTES: Final = 8 << 20
#: Counting a file's matches ends here.
MAX_MATCHES: Final = 100
#: Bytes shown of the line of a match.
SHOWN_BYTES: Final = 200


@dataclass(frozen=True, slots=True)
class Expression:
    """A regular expression that may run on anything."""

    compiled: Any

    @classmethod
    def read(cls, pattern: str) -> Self:
        """Read an expression as `Files.matching` takes it.

        Raises:
            Refused: It is none, or must not run.
        """
        compiled = _compiled(f"(?m){_short(pattern)}", shown=pattern)
        if compiled.search(b"") is not None:
            raise Refused(f"pattern: {pattern!r} matches an empty text, and so every file")
        return cls(compiled)

    def search(self, files: Iterable[tuple[str, str]], *, limit: int, time_s: float) -> PatternHits:
        """Look through files, given as path and content, until they or the time are over."""
        until = time.monotonic() + time_s
        hits, complete = [], True
        for path, content in files:
            if time.monotonic() > until:
                complete = False
                break
            hit = self._in(path, content.encode(errors="replace"), until)
            hits += [] if hit is None else [hit]
        hits.sort(key=lambda hit: (-hit.times, hit.path))
        return PatternHits(hits[:limit], complete)

    def _in(self, path: str, content: bytes, until: float) -> PatternHit | None:
        first, times = -1, 0
        for match in self.compiled.finditer(content):
            first, times = (match.start() if times == 0 else first), times + 1
            if times >= MAX_MATCHES or time.monotonic() > until:
                break
        if times == 0:
            return None
        begin = content.rfind(b"\n", 0, first) + 1
        shown = content[begin : begin + SHOWN_BYTES].partition(b"\n")[0]
        return PatternHit(path, times, content.count(b"\n", 0, first) + 1, shown.decode(errors="replace"))


def glob(pattern: str, paths: Iterable[str]) -> Iterator[str]:
    """Choose paths by a pattern as ignore files have them.

    Raises:
        Refused: It is no pattern, or too long.
    """
    try:
        written, includes = GitIgnoreSpecPattern.pattern_to_regex(_short(pattern))
    except ValueError as error:
        raise Refused(f"pattern: {pattern!r} is no path pattern") from error
    if written is None or not includes:
        raise Refused(f"pattern: {pattern!r} is no path pattern")
    # RE2 knows no named group that stands twice, and none is read.
    compiled = _compiled(written.replace("(?P<ps_d>", "("), shown=pattern)
    return (path for path in paths if compiled.match(path.encode()) is not None)


def _short(pattern: str) -> str:
    if not pattern.strip() or len(pattern) > MAX_PATTERN_CHARS:
        raise Refused(f"pattern: must have 1 to {MAX_PATTERN_CHARS:,} characters")
    return pattern


def _compiled(written: str, *, shown: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_PATTERN_BYTES
    try:
        return re2.compile(written.encode(), options)
    except re2.error as error:
        (reason,) = error.args
        detail = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise Unreadable(f"pattern {shown!r} cannot be read by RE2: {detail}") from error
