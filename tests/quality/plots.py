"""Plots of means and differences with their intervals, as SVG inside the page: nothing is loaded from elsewhere."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

#: Sizes in pixels: of a row, of the labels to the left, of the plot, of the figures to the right.
ROW, LABELS, PLOT, FIGURES = 24, 250, 400, 250
_STEPS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


@dataclass(frozen=True)
class Mark:
    """A row of a plot: a value with its interval. ``tone`` is base, on, off, good or bad, and chooses the colour."""

    label: str
    value: float
    low: float
    high: float
    figures: str
    tone: str


def interval_plot(marks: Sequence[Mark], *, title: str, zero: bool = False) -> str:
    """Draw a row for each mark; with ``zero`` a line at 0, which is always in sight."""
    low = min([mark.low for mark in marks] + ([0.0] if zero else []))
    high = max([mark.high for mark in marks] + ([0.0] if zero else []))
    step = _step(high - low)
    first, last = int(low // step), int(-(-high // step))
    if first == last:
        last += 1
    width, height = LABELS + PLOT + FIGURES, ROW * (len(marks) + 1) + 8

    def x(value: float) -> float:
        return round(LABELS + PLOT * (value - first * step) / ((last - first) * step), 1)

    drawn = [_grid(number * step, x(number * step), height, zero=zero) for number in range(first, last + 1)]
    drawn += [_row(mark, number, x) for number, mark in enumerate(marks)]
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title, quote=True)}">'
        f"<title>{escape(title)}</title>{''.join(drawn)}</svg>"
    )


def _step(span: float) -> float:
    return next((step for step in _STEPS if span / step <= 8), _STEPS[-1])


def _grid(value: float, at: float, height: int, *, zero: bool) -> str:
    kind = "zero" if zero and abs(value) < 1e-9 else "grid"
    shown = f"{value:+.2f}" if zero else f"{value:.2f}"
    return (
        f'<line class="{kind}" x1="{at}" x2="{at}" y1="4" y2="{height - ROW}"/>'
        f'<text class="axis" x="{at}" y="{height - 6}" text-anchor="middle">{shown}</text>'
    )


def _row(mark: Mark, number: int, x: Callable[[float], float]) -> str:
    y = ROW * number + ROW // 2 + 4
    return (
        f'<text x="{LABELS - 12}" y="{y + 4}" text-anchor="end">{escape(mark.label)}</text>'
        f'<line class="span {mark.tone}" x1="{x(mark.low)}" x2="{x(mark.high)}" y1="{y}" y2="{y}"/>'
        f'<circle class="{mark.tone}" cx="{x(mark.value)}" cy="{y}" r="5"/>'
        f'<text class="figures" x="{LABELS + PLOT + 14}" y="{y + 4}">{escape(mark.figures)}</text>'
    )
