"""The bars of one step: what each stretch of its time was spent on. Times are in ms since the job was accepted."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal

from querymill_shared.board import Attempt, AttemptPart, Step

#: Waiting: ``queue`` for a worker, ``limit`` for a provider's rate limit, ``put_back`` after an attempt that failed,
#: ``lost`` for another worker after one died. Work: the rest. ``running`` is work whose parts are not known yet.
BarKind = Literal["queue", "limit", "put_back", "lost", "chat", "embed", "search", "rerank", "fuse", "other", "running"]
WAITS: Final[frozenset[BarKind]] = frozenset({"queue", "limit", "put_back", "lost"})

#: What each part of an attempt counts as. Any other part: other work.
KINDS: Final[dict[str, BarKind]] = {
    "expand": "chat",
    "write": "chat",
    "parts": "chat",
    "chat": "chat",
    "embed": "embed",
    "embeddings": "embed",
    "vectors": "embed",
    "route": "search",
    "search": "search",
    "recall": "search",
    "words": "search",
    "text": "search",
    "show": "search",
    "judge": "rerank",
    "rerank": "rerank",
    "evaluate": "rerank",
    "fuse": "fuse",
    "rank": "fuse",
    "score": "fuse",
}

#: The time of an attempt that no part took. Workers of earlier releases noted a call so that failed, or that the
#: deadline cut: in these steps it was that of the call.
UNFINISHED: Final = "work"
CALLING: Final[dict[str, BarKind]] = {"answer": "chat", "judge": "rerank"}
#: Steps in which a chat model judges, and the part that is one of its calls.
JUDGING: Final = ("judge", "rerank")
CHAT_CALL: Final = "chat"


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of time that was spent on one thing. ``part`` is the part of the attempt, "" if it belongs to none."""

    kind: BarKind
    start: float
    end: float
    part: str = ""

    @property
    def ms(self) -> float:
        """How long it is."""
        return self.end - self.start

    @property
    def is_wait(self) -> bool:
        """Whether nothing was done in that time."""
        return self.kind in WAITS


@dataclass(frozen=True, slots=True)
class AttemptBars:
    """An attempt and its bars, which follow each other without a gap. Those before ``started`` led up to it."""

    attempt: Attempt
    bars: tuple[Bar, ...]

    @property
    def calls(self) -> int:
        """The provider calls that it made."""
        return sum(part.calls for part in self.attempt.parts)

    @property
    def cached(self) -> int:
        """The values that it found in a cache."""
        return sum(part.cached for part in self.attempt.parts)

    @property
    def shared(self) -> int:
        """The values that it got from calls of other workers."""
        return sum(part.shared for part in self.attempt.parts)


def attempts_of(step: Step, *, since: float, until_ms: float) -> tuple[AttemptBars, ...]:
    """Return the attempts at a step with their bars.

    ``since`` is when the job was accepted, in seconds since the epoch. ``until_ms`` is when what has not ended is cut:
    at the end of the job or, before that, now. Bars of a step follow each other: a time that lies before the end of
    the one before is moved there, as clocks and rounding may differ by a few milliseconds.
    """
    found: list[AttemptBars] = []
    at: float | None = None
    for attempt in step.attempts:
        bars = tuple(_bars_of(step.name, attempt, at, since, until_ms))
        if bars:
            at = bars[-1].end
            found.append(AttemptBars(attempt, bars))
    return tuple(found)


def waiting_bars(step: Step, *, since: float, until_ms: float) -> tuple[Bar, ...]:
    """Return the bars of a step that waits for its first or next attempt: put back for a while, then queued."""
    if step.state != "waiting":
        return ()
    before = [attempt.ended for attempt in step.attempts if attempt.ended is not None]
    queued = ms_since(step.queued, since)
    began = ms_since(before[-1], since) if before else queued
    return tuple(_waits(began or 0.0, queued, until_ms, until_ms))


def _bars_of(step: str, attempt: Attempt, before: float | None, since: float, until_ms: float) -> Iterator[Bar]:
    started = ms_since(attempt.started, since)
    if started is None:
        return
    queued = ms_since(attempt.queued, since)
    began = before if before is not None else (started if queued is None else queued)
    began = min(began, until_ms)
    started = min(max(started, began), until_ms)
    yield from _waits(began, queued, started, until_ms)
    ended = ms_since(attempt.ended, since)
    ended = until_ms if ended is None else min(max(ended, started), until_ms)
    if attempt.outcome == "lost" and not attempt.parts:
        yield from _stretch("lost", started, ended)
    elif attempt.outcome == "running":
        yield from _stretch("running", started, ended)
    else:
        yield from _work(step, attempt.parts, started, ended)


def _waits(began: float, queued: float | None, started: float, until_ms: float) -> Iterator[Bar]:
    """Yield how long a step was put back, and then waited for a worker."""
    free = min(max(began if queued is None else queued, began), started)
    yield from _stretch("put_back", began, min(free, until_ms))
    yield from _stretch("queue", min(free, until_ms), min(started, until_ms))


def _work(step: str, parts: Sequence[AttemptPart], started: float, ended: float) -> Iterator[Bar]:
    """Yield the parts of an attempt, one after the other, and the rest of its time.

    The parts were timed by the worker's clock. If they come to more than the board's clock says, they are scaled.
    """
    at, total = started, sum(part.ms for part in parts)
    scale = (ended - started) / total if total > ended - started else 1.0
    for part in parts:
        waited = min(part.waited_ms, part.ms) * scale
        free, end = at + waited, min(at + part.ms * scale, ended)
        yield from _stretch("limit", at, min(free, end), part.what)
        yield from _stretch(kind_of(part, step), min(free, end), end, part.what)
        at = end
    yield from _stretch("other", at, ended)


def kind_of(part: AttemptPart, step: str) -> BarKind:
    """Return what a part of an attempt at a step counts as, its wait for a limit left out."""
    if part.what == UNFINISHED and part.calls:
        return CALLING.get(step, "other")
    if part.what == CHAT_CALL and step.startswith(JUDGING):
        return "rerank"
    return KINDS.get(part.what, "other")


def _stretch(kind: BarKind, start: float, end: float, part: str = "") -> Iterator[Bar]:
    if end > start:
        yield Bar(kind, start, end, part)


def ms_since(seconds: float | None, since: float) -> float | None:
    """Return a time in ms since another, 0 if it lies before that. Both are in seconds since the epoch."""
    return None if seconds is None else max(round((seconds - since) * 1000, 2), 0.0)


def totals_of(bars: Iterable[Bar]) -> dict[BarKind, float]:
    """Add up the time of each kind, in ms, the kinds in the order in which they occur."""
    totals: dict[BarKind, float] = {}
    for bar in bars:
        totals[bar.kind] = totals.get(bar.kind, 0.0) + bar.ms
    return {kind: round(ms, 2) for kind, ms in totals.items()}


#: If several steps of a folded row do different things at a time, the first of these is drawn.
_SHOWN_FIRST: Final[tuple[BarKind, ...]] = (
    "chat", "rerank", "embed", "search", "fuse", "other", "running", "lost", "limit", "put_back", "queue",
)  # fmt: skip


def merge_bars(bars: Iterable[Bar]) -> tuple[Bar, ...]:
    """Draw the bars of several steps as those of one: work before waiting. Times without any bar stay free."""
    moments: dict[float, list[tuple[BarKind, int]]] = {}
    for bar in bars:
        moments.setdefault(bar.start, []).append((bar.kind, 1))
        moments.setdefault(bar.end, []).append((bar.kind, -1))
    merged: list[Bar] = []
    under_way = dict.fromkeys(_SHOWN_FIRST, 0)
    times = sorted(moments)
    for start, end in pairwise(times):
        for kind, change in moments[start]:
            under_way[kind] += change
        shown = next((kind for kind in _SHOWN_FIRST if under_way[kind]), None)
        if shown is None:
            continue
        if merged and merged[-1].kind == shown and merged[-1].end == start:
            merged[-1] = replace(merged[-1], end=end)
        else:
            merged.append(Bar(shown, start, end))
    return tuple(merged)
