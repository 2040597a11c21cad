"""Patterns written by users, run by RE2 in time linear in the text."""

import time
from collections.abc import Iterable, Iterator
from typing import Any, Final, Self

import re2
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from querymill_shared.values import value
from querymill_workers.jobs.faults import MalformedInput, Refused
from querymill_workers.retrievers.files.ports import PatternHit, PatternHits

MAX_PATTERN_CHARS: Final = 1_000
#: Memory that one compiled pattern may take, in bytes.
MAX_PATTERN_BYTES: Final = 8 << 20
#: Counting a file's matches stops here.
MAX_MATCHES: Final = 100
#: Bytes shown of the line of the first match.
SHOWN_BYTES: Final = 200


@value
class Expression:
    """A regular expression that is safe to run on any text."""

    compiled: Any

    @classmethod
    def read(cls, pattern: str) -> Self:
        """Compile an expression as `Files.matching` describes it.

        Raises:
            Unreadable: The expression is not valid in RE2's syntax, or takes too much memory.
            Refused: The expression is too long, or matches an empty text.
        """
        compiled = _compiled(f"(?m){_short(pattern)}", shown=pattern)
        if compiled.search(b"") is not None:
            raise Refused(f"pattern: {pattern!r} matches an empty text, so it would match every file")
        return cls(compiled)

    def search(self, files: Iterable[tuple[str, str]], *, limit: int, time_s: float) -> PatternHits:
        """Search files, given as path and content, until all are searched or the time is up."""
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
    """Return the paths that match a pattern of ignore files.

    Raises:
        Refused: The pattern is too long, or is not a path pattern.
    """
    try:
        written, includes = GitIgnoreSpecPattern.pattern_to_regex(_short(pattern))
    except ValueError as error:
        raise Refused(f"pattern: {pattern!r} is not a path pattern") from error
    if written is None or not includes:
        raise Refused(f"pattern: {pattern!r} is not a path pattern")
    # RE2 refuses two groups of one name; no group is read here.
    compiled = _compiled(written.replace("(?P<ps_d>", "("), shown=pattern)
    return (path for path in paths if compiled.match(path.encode()) is not None)


def _short(pattern: str) -> str:
    if not pattern.strip() or len(pattern) > MAX_PATTERN_CHARS:
        raise Refused(f"pattern: must be 1 to {MAX_PATTERN_CHARS:,} characters long")
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
        raise MalformedInput(f"pattern {shown!r} cannot be read by RE2: {detail}") from error
