"""The waterfall of a job: a row for each step, what its time was spent on, and what the job's end waited for.

All times are in ms since the job was accepted, by the board's clock. There is no text of anybody in it.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from querymill.presenting.explain.bars import (
    AttemptBars,
    Bar,
    BarKind,
    attempts_of,
    merge_bars,
    ms_since,
    totals_of,
    waiting_bars,
)
from querymill_shared.board import Picture, Record, Step
from querymill_shared.contracts.codes import Code

AxisEnd = Literal["deadline", "end", "now"]

#: The row of what follows the last step: the hits are ranked, and the job is ended.
FUSE: Final = "fuse"
#: More steps of one name than this are one row.
MAX_ALIKE: Final = 5
#: A time without any work is cut out if it takes more than this share of the axis, and so long at least: what is
#: shorter is drawn as long as it was, since it is often what the job waited for.
CUT_SHARE: Final = 0.6
CUT_MS: Final = 600_000.0
#: The deadline is the end of the axis if the job fills this share of the time until then.
DEADLINE_SHARE: Final = 0.4
#: The place of a time that is cut out, as a share of the width.
CUT_WIDTH: Final = 0.04
#: Times of the board are whole milliseconds.
_TOLERANCE_MS: Final = 2.0


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step, or several alike that are folded into one row.

    ``bars`` follow each other from ``start`` to ``end``. ``sets_end`` says that the job's end waited for it. A folded
    row names the number of its steps and holds them in ``folded``, failed ones first, each a row of its own.
    A step that had not closed when its job ended is ``stopped``.
    """

    name: str
    state: Literal["waiting", "running", "done", "failed", "stopped"]
    bars: tuple[Bar, ...]
    attempts: tuple[AttemptBars, ...] = ()
    attempt_count: int = 0
    code: Code | None = None
    reason: str = ""
    sets_end: bool = False
    folded: tuple["StepRow", ...] = ()
    failed: int = 0

    @property
    def start(self) -> float:
        """When it was queued, or began if that is unknown."""
        return self.bars[0].start if self.bars else 0.0

    @property
    def end(self) -> float:
        """When it ended, or how far it has come."""
        return self.bars[-1].end if self.bars else 0.0

    @property
    def took_ms(self) -> float:
        """How long it took, its waits included."""
        return self.end - self.start

    @property
    def calls(self) -> int:
        """The provider calls of all attempts that are known."""
        return sum(attempt.calls for attempt in self.attempts) + sum(row.calls for row in self.folded)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of the critical path: what the end of the job waited for in that time. ``step`` is "" between steps."""

    step: str
    bar: Bar


@dataclass(frozen=True, slots=True)
class Cut:
    """A time without any work that is not drawn, and why: the code and reason of the attempt before it."""

    start: float
    end: float
    code: Code | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Waterfall:
    """All rows of a job. The axis goes from 0 to ``axis_ms``, which is ``axis_end``.

    ``ended`` is when the job ended, None before that. ``first_hits`` is when the first hits were there, None if none
    were. ``totals`` are the sums over all rows. ``critical`` ends at the end of the job, or now.
    """

    rows: tuple[StepRow, ...]
    axis_ms: float
    axis_end: AxisEnd
    now: float
    ended: float | None
    deadline: float | None
    first_hits: float | None
    critical: tuple[Stretch, ...]
    totals: Mapping[BarKind, float]
    cut: Cut | None = None

    def place(self, ms: float) -> float:
        """Return where a time is drawn, as a share of the width: 0 to 1. What is cut out takes `CUT_WIDTH`."""
        ms = min(max(ms, 0.0), self.axis_ms)
        if self.cut is None:
            return ms / self.axis_ms if self.axis_ms else 0.0
        shown = self.axis_ms - (self.cut.end - self.cut.start)
        left = 0.0 if shown <= 0 else (1 - CUT_WIDTH) / shown
        if ms <= self.cut.start:
            return ms * left
        inside = min((ms - self.cut.start) / (self.cut.end - self.cut.start), 1.0)
        return self.cut.start * left + inside * CUT_WIDTH + max(ms - self.cut.end, 0.0) * left


def waterfall(picture: Picture, *, now: float) -> Waterfall:
    """Draw the waterfall of a job. ``now`` is in seconds since the epoch by the board's clock."""
    record = picture.record
    since = _since(picture)
    ended = ms_since(record.ended, since)
    now_ms = (ms_since(now, since) or 0.0) if ended is None else ended
    # A step that nobody ran holds what others came to. If that is a failure, its reason is told.
    steps = [step for step in picture.steps if step.attempt or step.state != "done"]
    rows = [_row(step, since, now_ms) for step in steps]
    if ended is not None:
        rows += _last_row(picture.steps, rows, ended)
    critical = _critical_path([row for row in rows if row.bars], now_ms)
    last = next((stretch.step for stretch in reversed(critical) if stretch.step not in ("", FUSE)), "")
    rows = [_marked(row, last, is_over=ended is not None) for row in rows]
    axis_ms, axis_end = _axis(record, since, ended, now_ms)
    return Waterfall(
        rows=_folded(rows),
        axis_ms=axis_ms,
        axis_end=axis_end,
        now=now_ms,
        ended=ended,
        deadline=ms_since(record.deadline, since),
        first_hits=_first_hits(rows),
        critical=critical,
        totals=totals_of(bar for row in rows for bar in row.bars),
        cut=_cut(rows, axis_ms),
    )


def _since(picture: Picture) -> float:
    """Return where the axis begins: when the work was accepted. A job that joined it was accepted later."""
    times = [attempt.queued for step in picture.steps for attempt in step.attempts if attempt.queued is not None]
    return min([picture.record.created, *times])


def _row(step: Step, since: float, until_ms: float) -> StepRow:
    attempts = attempts_of(step, since=since, until_ms=until_ms)
    bars = [bar for attempt in attempts for bar in attempt.bars]
    waiting = waiting_bars(step, since=since, until_ms=until_ms)
    at = bars[-1].end if bars else 0.0
    bars += [Bar(bar.kind, max(bar.start, at), bar.end) for bar in waiting if bar.end > at]
    return StepRow(
        name=step.name,
        state=step.state,
        bars=tuple(bars),
        attempts=attempts,
        attempt_count=step.attempt,
        code=step.code,
        reason=step.reason if step.state != "done" else "",
        failed=int(step.state == "failed"),
    )


def _last_row(steps: Sequence[Step], rows: Sequence[StepRow], ended: float) -> list[StepRow]:
    """Return the row of what was done between the last step and the end, if every step was closed by then."""
    at = max((row.end for row in rows if row.bars), default=ended)
    if ended <= at or not all(step.is_closed for step in steps):
        return []
    return [StepRow(FUSE, "done", (Bar("fuse", at, ended, FUSE),))]


def _critical_path(rows: Sequence[StepRow], end: float) -> tuple[Stretch, ...]:
    """Walk back from the end over whatever the next step waited for.

    A step waits for its own bars, back to when it was queued. It was queued by the step that had ended last by then.
    """
    path: list[Stretch] = []
    at, left = end, list(rows)
    while left:
        before = [row for row in left if row.end <= at + _TOLERANCE_MS]
        if not before:
            break
        row = max(before, key=lambda row: (row.end, row.state != "waiting", -row.start))
        if path and row.start >= at:
            left.remove(row)
            continue
        if row.end < at:
            path.append(Stretch("", Bar("other", row.end, at)))
        path += [Stretch(row.name, _until(bar, at)) for bar in reversed(row.bars) if bar.start < at]
        left.remove(row)
        at = row.start
        if at <= _TOLERANCE_MS:
            break
    return tuple(reversed(path))


def _until(bar: Bar, at: float) -> Bar:
    return bar if bar.end <= at else Bar(bar.kind, bar.start, at, bar.part)


def _marked(row: StepRow, last: str, *, is_over: bool) -> StepRow:
    stopped = is_over and row.state in ("running", "waiting")
    return replace(row, sets_end=row.name == last, state="stopped" if stopped else row.state)


def _axis(record: Record, since: float, ended: float | None, now_ms: float) -> tuple[float, AxisEnd]:
    if record.deadline is not None:
        deadline = ms_since(record.deadline, since) or 0.0
        if now_ms >= deadline * DEADLINE_SHARE:
            return max(deadline, now_ms), "deadline"
    return now_ms, "now" if ended is None else "end"


def _first_hits(rows: Sequence[StepRow]) -> float | None:
    """Return when the first step that searched was done."""
    found = [row.end for row in rows if row.state == "done" and any(bar.kind == "search" for bar in row.bars)]
    return min(found, default=None)


def _cut(rows: Sequence[StepRow], axis_ms: float) -> Cut | None:
    """Find the longest time in which nothing was done, if it is long enough to be cut out."""
    work = sorted((bar.start, bar.end) for row in rows for bar in row.bars if not bar.is_wait)
    if not work:
        return None
    gaps, at = [], 0.0
    for start, end in work:
        gaps.append((start - at, at, start))
        at = max(at, end)
    gaps.append((axis_ms - at, at, axis_ms))
    length, start, end = max(gaps)
    if length < CUT_MS or length <= CUT_SHARE * axis_ms:
        return None
    code, reason = _why(rows, start)
    return Cut(start, end, code, reason)


def _why(rows: Sequence[StepRow], at: float) -> tuple[Code | None, str]:
    """Return the code and the reason of the attempt that ended last before a time without a result."""
    ended = [
        (tried.bars[-1].end, tried.attempt)
        for row in rows
        for tried in row.attempts
        if tried.attempt.outcome not in ("done", "running") and tried.bars[-1].end <= at + _TOLERANCE_MS
    ]
    if not ended:
        return None, ""
    _, attempt = max(ended, key=lambda pair: pair[0])
    return attempt.code, attempt.reason


def alike(name: str) -> str:
    """Return what steps of one sort have in common: "batch-07" and "batch-12" are both "batch"."""
    return re.sub(r"[-_ .]?\d+", "", name) or name


def _folded(rows: Sequence[StepRow]) -> tuple[StepRow, ...]:
    """Fold more than `MAX_ALIKE` rows of one sort into one, and put the rows in the order in which they were queued."""
    groups: dict[str, list[StepRow]] = {}
    for row in rows:
        groups.setdefault(alike(row.name), []).append(row)
    shown = [
        row for name, group in groups.items() for row in (group if len(group) <= MAX_ALIKE else [_fold(name, group)])
    ]
    return tuple(sorted(shown, key=lambda row: row.start if row.bars else math.inf))


def _fold(name: str, group: Sequence[StepRow]) -> StepRow:
    failed = sum(row.failed for row in group)
    states = {row.state for row in group}
    state = next((state for state in ("running", "waiting") if state in states), "failed" if failed else "done")
    return StepRow(
        name=f"{name} × {len(group)}",
        state=state,  # type: ignore[arg-type]  # one of the states of its rows
        bars=merge_bars(bar for row in group for bar in row.bars),
        attempt_count=sum(row.attempt_count for row in group),
        sets_end=any(row.sets_end for row in group),
        folded=tuple(sorted(group, key=lambda row: row.state != "failed")),
        failed=failed,
    )
