"""The waterfall as a table with a drawing in each row: where each bar stands, in percent of the width. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from querymill.gateway.console.wording import duration
from querymill.presenting.explain.bars import Bar, BarKind, totals_of
from querymill.presenting.explain.waterfall import StepRow, Waterfall

#: What each sort of time is called, and the class that draws it. Work is filled; waiting is an outline or a pattern.
NAMES: Final[dict[BarKind, tuple[str, str]]] = {
    "queue": ("queue", "queue"),
    "limit": ("limit", "limit"),
    "put_back": ("put back", "back"),
    "lost": ("lost", "silent"),
    "chat": ("chat model", "chat"),
    "embed": ("embedding", "embed"),
    "search": ("search", "search"),
    "rerank": ("judge", "rerank"),
    "fuse": ("fuse", "own"),
    "other": ("other work", "own"),
    "running": ("in work", "busy"),
}
#: Patterns stand in the page; a class cannot name them.
_PATTERNS: Final = {"limit": "url(#hatch)", "lost": "url(#cross)"}
#: The least width of a bar, in percent: about 2 px of a wide drawing.
LEAST_WIDTH: Final = 0.3
LEAST_SHARE: Final = 0.02
#: Steps between the marks of the axis, in ms.
_STEPS: Final = tuple(base * 10**power for power in range(9) for base in (1, 2, 5))
MARKS: Final = 6
#: Half of what the name of a gap takes, in percent: no mark stands so near to it.
BREAK_WIDTH: Final = 14.0


@dataclass(frozen=True, slots=True)
class DrawnBar:
    """A bar as it is drawn, in percent of the width."""

    css: str
    x: float
    width: float
    fill: str = ""


@dataclass(frozen=True, slots=True)
class AxisMark:
    """A mark of the axis. ``anchor`` says which side of the text stands at ``x`` percent."""

    label: str
    x: float
    anchor: str


@dataclass(frozen=True, slots=True)
class DrawnRow:
    """A row: what it says in words, and its pieces. ``folded`` are the rows that it stands for."""

    row: StepRow
    spent: str
    pieces: tuple[DrawnBar, ...]
    folded: tuple["DrawnRow", ...] = ()


@dataclass(frozen=True, slots=True)
class Drawing:
    """The drawing of a job.

    ``gap`` is where the axis is broken, and how wide, in percent; ``cut`` says what is left out there.
    """

    rows: tuple[DrawnRow, ...]
    marks: tuple[AxisMark, ...]
    legend: tuple[tuple[str, str, str, float], ...]
    deadline_x: float | None
    first_hits_x: float | None
    cut: str
    is_over: bool
    gap: tuple[float, float] | None = None


def draw(fall: Waterfall) -> Drawing:
    """Draw a waterfall."""
    legend = tuple((*NAMES[kind], _PATTERNS.get(kind, ""), ms / 1000) for kind, ms in fall.totals.items() if ms >= 0.5)
    deadline = fall.deadline if fall.deadline is not None and fall.deadline <= fall.axis_ms else None
    return Drawing(
        rows=tuple(_drawn(row, fall) for row in fall.rows),
        marks=tuple(_marks(fall)),
        legend=legend,
        deadline_x=None if deadline is None else _percent(fall.place(deadline)),
        first_hits_x=None if fall.first_hits is None else _percent(fall.place(fall.first_hits)),
        cut=_cut(fall),
        is_over=fall.ended is not None,
        gap=_gap(fall),
    )


def spent(bars: Iterable[Bar]) -> str:
    """Say what the time of a row was spent on. What took less than `LEAST_SHARE` of it is left out.

    >>> spent([Bar("queue", 0, 20), Bar("chat", 20, 1640)])
    'chat model 1.62 s'
    """
    totals = totals_of(bars)
    least = LEAST_SHARE * sum(totals.values())
    return " · ".join(f"{NAMES[kind][0]} {duration(ms / 1000)}" for kind, ms in totals.items() if ms >= least)


def _drawn(row: StepRow, fall: Waterfall) -> DrawnRow:
    return DrawnRow(
        row, spent(row.bars), tuple(_pieces(row.bars, fall)), tuple(_drawn(each, fall) for each in row.folded)
    )


def _pieces(bars: Sequence[Bar], fall: Waterfall) -> Iterator[DrawnBar]:
    for bar in bars:
        start, end = fall.place(bar.start), fall.place(bar.end)
        x = min(_percent(start), 100 - LEAST_WIDTH)
        _, css = NAMES[bar.kind]
        yield DrawnBar(css, x, max(_percent(end - start), LEAST_WIDTH), _PATTERNS.get(bar.kind, ""))


def _percent(share: float) -> float:
    return round(share * 100, 3)


def _marks(fall: Waterfall) -> Iterator[AxisMark]:
    """Mark the axis at round times, and where it is broken. One in the gap, or too near another, is left out."""
    step = next((step for step in _STEPS if fall.axis_ms / step <= MARKS), _STEPS[-1])
    last, gap = -100.0, _gap(fall)
    if fall.cut is not None and gap is not None:
        broken = gap[0] + gap[1] / 2
        label = f"⫽ {duration((fall.cut.end - fall.cut.start) / 1000)}"
        yield AxisMark(label, broken, "start" if broken < 10 else "end" if broken > 90 else "middle")
    for number in range(int(fall.axis_ms // step) + 1):
        at = number * step
        x = _percent(fall.place(at))
        if x - last < 100 / (MARKS * 2) or (gap is not None and abs(x - gap[0] - gap[1] / 2) < BREAK_WIDTH):
            continue
        last = x
        yield AxisMark(_label(at), x, "start" if x < 2 else "end" if x > 94 else "middle")


def _gap(fall: Waterfall) -> tuple[float, float] | None:
    if fall.cut is None:
        return None
    start, end = fall.place(fall.cut.start), fall.place(fall.cut.end)
    return _percent(start), _percent(end - start)


def _label(ms: float) -> str:
    if not ms:
        return "0"
    return f"{ms / 1000:g} s" if 100 <= ms < 60_000 else duration(ms / 1000)


def _cut(fall: Waterfall) -> str:
    if fall.cut is None:
        return ""
    why = f": {fall.cut.reason}" if fall.cut.reason else ""
    return f"⫽ {duration((fall.cut.end - fall.cut.start) / 1000)} without any work are not drawn{why}"
