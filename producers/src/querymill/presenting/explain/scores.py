"""Scores that add up: one tree for all kinds, which folds to the score of its hit."""

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

#: How a part comes from its parts: their product, sum, power (the first to the second), smallest or largest; a curve
#: through ``points``, at the first; or it is given, and its parts only tell more of it.
Op = Literal["given", "product", "sum", "power", "min", "max", "curve"]
#: Scores that name no rounding may differ by as much as floating point does.
EXACT: Final = 1e-9


#: Scores below this, such as those made of ranks, are shown with more places.
SMALL: Final = 0.1


@dataclass(frozen=True, slots=True)
class ScorePart:
    """A number of a score, and the numbers that it comes from.

    ``note`` tells more, such as the text of a query. ``rounded_to`` is the number of places that the score was rounded
    to, None if it was not. ``is_counted`` marks the one of several that a score was made of.
    """

    label: str
    value: float
    op: Op = "given"
    parts: tuple["ScorePart", ...] = ()
    note: str = ""
    rounded_to: int | None = None
    points: tuple[tuple[float, float], ...] = ()
    is_counted: bool = False

    @property
    def share(self) -> float | None:
        """The parts of a sum can be drawn as shares of it. None of anything else: shares of a product mislead."""
        return sum(part.value for part in self.parts) if self.op == "sum" else None


@dataclass(frozen=True, slots=True)
class Balance:
    """Whether a tree folds to a score, and by how much it differs."""

    is_even: bool
    difference: float


def adds_up(tree: ScorePart, score: float) -> Balance:
    """Fold a tree and compare it with the score of its hit, within the rounding of the tree's numbers."""
    difference = abs(fold(tree) - score)
    return Balance(difference <= _tolerance(tree) + EXACT * max(1.0, abs(score)), difference)


def fold(tree: ScorePart) -> float:
    """Compute a number from its parts again.

    Raises:
        ValueError: A part cannot be computed, such as 0 to the power of −1.
    """
    values = [fold(part) for part in tree.parts]
    match tree.op:
        case "given":
            return tree.value
        case "product":
            return math.prod(values)
        case "sum":
            return math.fsum(values)
        case "power" | "curve":
            return _power(values) if tree.op == "power" else curve(tree.points, values[0])
        case "min" | "max":
            return min(values) if tree.op == "min" else max(values)


def _power(values: list[float]) -> float:
    base, exponent = values
    if base == 0 and exponent < 0:
        raise ValueError("0 to a negative power")
    return float(base**exponent)


def curve(points: tuple[tuple[float, float], ...], value: float) -> float:
    """Return the height of a curve of straight lines through points, flat beyond them; without points, the value."""
    if not points:
        return value
    place = bisect_right(points, value, key=lambda point: point[0])
    if place in (0, len(points)):
        return points[0][1] if place == 0 else points[-1][1]
    (x0, y0), (x1, y1) = points[place - 1], points[place]
    return y0 + (value - x0) * (y1 - y0) / (x1 - x0)


def _tolerance(tree: ScorePart) -> float:
    """Return half of the last place of the score, and how far the rounding of the numbers below can move it."""
    own = 0.0 if tree.rounded_to is None else 0.5 * 10**-tree.rounded_to
    if tree.op == "given":
        return own
    return own + sum(_moves(tree, place) for place in range(len(tree.parts)))


def _moves(tree: ScorePart, place: int) -> float:
    """Return how far the rounding of one part can move its parent: tried out, as formulas differ."""
    part = tree.parts[place]
    slack = _tolerance(part)
    if not slack:
        return 0.0
    moved = []
    for value in (part.value - slack, part.value, part.value + slack):
        other = replace(part, value=value, op="given")
        moved.append(fold(replace(tree, parts=(*tree.parts[:place], other, *tree.parts[place + 1 :]))))
    return max(moved) - min(moved)


def equation(tree: ScorePart) -> str:
    """Return the first level of a tree as a line: "0.912 = similarity 0.760 × inner factor 1.000 × agreement 1.200"."""
    wanted = 3 if abs(tree.value) >= SMALL else 5
    places = wanted if tree.rounded_to is None else min(wanted, tree.rounded_to)
    shown = f"{tree.value:.{places}f}"
    terms = [f"{part.label} {part.value:.{places}f}" for part in tree.parts]
    match tree.op:
        case "product" if terms:
            return f"{shown} = {' × '.join(terms)}"
        case "sum" if terms:
            return f"{shown} = {' + '.join(terms)}"
        case "min" | "max" if terms:
            return f"{shown} = {'the smaller' if tree.op == 'min' else 'the larger'} of {' and '.join(terms)}"
        case "power" if terms:
            return f"{shown} = {terms[0]} to the power of {terms[1]}"
        case "curve" if terms:
            return f"{terms[0]} → {tree.label} {shown}"
        case _:
            return f"{shown} {tree.label}"


def walk(tree: ScorePart, depth: int = 0) -> Iterator[tuple[int, ScorePart]]:
    """Yield the parts of a tree from the top, each with its depth."""
    yield depth, tree
    for part in tree.parts:
        yield from walk(part, depth + 1)
