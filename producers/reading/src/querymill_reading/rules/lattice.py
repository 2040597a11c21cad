"""Tables whose cells are drawn: the lines around a cell say what belongs to it, however its text is wrapped."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from querymill_reading.rules.grids import grid_table
from querymill_reading.rules.layout import Rule, Segment, Word, lines_of, segments_of
from querymill_reading.rules.tables import is_value
from querymill_reading.rules.wrapping import joined

#: Points by which lines may miss each other, and by which pieces of one line may lie beside or apart from each other.
NEAR: Final = 3.0
#: Pairs of lines of a page that are looked at; a drawing has more.
MAX_PAIRS: Final = 100_000
#: Columns and rows of a table, at least, and the share of its cells that hold text.
LEAST: Final = 2
LEAST_FILLED: Final = 0.3
_OUTSIDE: Final = -1


@dataclass(frozen=True, slots=True)
class Post:
    """A vertical line that is drawn, from its upper end to its lower."""

    x: float
    y0: float
    y1: float


@dataclass(frozen=True, slots=True)
class Lattice:
    """The lines of a table that touch each other, and the places of its borders from the left and from the top."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    rules: tuple[Rule, ...]
    posts: tuple[Post, ...]

    def cell_at(self, x: float, y: float) -> tuple[int, int] | None:
        """Return the row and column of a place, or None outside. A merged cell is that of its upper left corner."""
        row, column = _between(y, self.ys), _between(x, self.xs)
        return None if _OUTSIDE in (row, column) else self.corner(row, column)

    def corner(self, row: int, column: int) -> tuple[int, int]:
        """Return the upper left cell of those that no line parts from a cell."""
        while column and not self._has_post(self.xs[column], row):
            column -= 1
        while row and not self._has_rule(self.ys[row], column):
            row -= 1
        return row, column

    def _has_post(self, x: float, row: int) -> bool:
        y = (self.ys[row] + self.ys[row + 1]) / 2
        return any(abs(post.x - x) <= NEAR and post.y0 <= y <= post.y1 for post in self.posts)

    def _has_rule(self, y: float, column: int) -> bool:
        x = (self.xs[column] + self.xs[column + 1]) / 2
        return any(abs(rule.y - y) <= NEAR and rule.x0 <= x <= rule.x1 for rule in self.rules)


def lattices(rules: Sequence[Rule], posts: Sequence[Post]) -> list[Lattice]:
    """Return the tables among the lines of a page: those that touch each other and make rows and columns."""
    rules = [Rule(start, end, y) for y, start, end in _merged((rule.y, rule.x0, rule.x1) for rule in rules)]
    posts = [Post(*line) for line in _merged((post.x, post.y0, post.y1) for post in posts)]
    if not rules or not posts or len(rules) * len(posts) > MAX_PAIRS:
        return []
    found = []
    for few_rules, few_posts in _touching(rules, posts):
        xs = [post.x for post in few_posts]
        ys = [rule.y for rule in few_rules]
        outer_x = (min(rule.x0 for rule in few_rules), max(rule.x1 for rule in few_rules))
        outer_y = (min(post.y0 for post in few_posts), max(post.y1 for post in few_posts))
        lattice = Lattice(_places(xs, outer_x), _places(ys, outer_y), tuple(few_rules), tuple(few_posts))
        if min(len(lattice.xs), len(lattice.ys)) > LEAST:
            found.append(lattice)
    return found


def with_tables(words: Sequence[Word], rules: Sequence[Rule], posts: Sequence[Post]) -> list[Segment]:
    """Join words to segments; a table whose cells are drawn becomes one segment."""
    found = lattices(rules, posts)
    if not found:
        return segments_of(words)
    rest: list[Word] = list(words)
    drawn: list[Segment] = []
    for lattice in found:
        cells, others = _parted(rest, lattice)
        table = _table(cells, lattice)
        if table is not None:
            drawn.append(table)
            rest = others
    return [*segments_of(rest), *drawn] if rest else drawn


def _merged(lines: Iterable[tuple[float, float, float]]) -> Iterator[tuple[float, float, float]]:
    """Join pieces of one line: a place across it, its start and its end."""
    held: list[list[float]] = []
    for place, start, end in sorted(lines):
        if held and place - held[0][0] > NEAR:
            yield from _joined_pieces(held)
            held = []
        held.append([place, start, end])
    if held:
        yield from _joined_pieces(held)


def _joined_pieces(pieces: Sequence[Sequence[float]]) -> Iterator[tuple[float, float, float]]:
    place = pieces[0][0]
    start = end = math.nan
    for _, first, last in sorted(pieces, key=lambda piece: piece[1]):
        if first <= end + NEAR:
            end = max(end, last)
            continue
        if not math.isnan(start):
            yield place, start, end
        start, end = first, last
    yield place, start, end


def _touching(rules: Sequence[Rule], posts: Sequence[Post]) -> Iterator[tuple[list[Rule], list[Post]]]:
    """Yield the rules and posts that touch each other, directly or by others."""
    left = set(range(len(rules)))
    touched_by = [
        [at for at in range(len(rules)) if _touch(rules[at], post)] for post in posts
    ]  # fmt: skip
    posts_of: dict[int, list[int]] = defaultdict(list)
    for number, few in enumerate(touched_by):
        for at in few:
            posts_of[at].append(number)
    while left:
        waiting, group, standing = [left.pop()], set[int](), set[int]()
        while waiting:
            at = waiting.pop()
            group.add(at)
            for number in posts_of[at]:
                if number not in standing:
                    standing.add(number)
                    reached = left.intersection(touched_by[number])
                    left -= reached
                    waiting.extend(reached)
        if standing:
            yield [rules[at] for at in sorted(group)], [posts[number] for number in sorted(standing)]


def _touch(rule: Rule, post: Post) -> bool:
    return rule.x0 - NEAR <= post.x <= rule.x1 + NEAR and post.y0 - NEAR <= rule.y <= post.y1 + NEAR


def _places(places: Iterable[float], outer: tuple[float, float]) -> tuple[float, ...]:
    """Return places in order, those near to each other once. A table that is open at its sides ends with its lines."""
    found: list[float] = []
    for place in sorted([*places, *outer]):
        if not found or place - found[-1] > NEAR:
            found.append(place)
    return tuple(found)


def _between(place: float, borders: Sequence[float]) -> int:
    return next((at for at in range(len(borders) - 1) if borders[at] <= place < borders[at + 1]), _OUTSIDE)


def _parted(words: Sequence[Word], lattice: Lattice) -> tuple[dict[tuple[int, int], list[Word]], list[Word]]:
    """Part the words in the cells of a table from all others. A glued word goes with the one before it."""
    cells: dict[tuple[int, int], list[Word]] = defaultdict(list)
    others: list[Word] = []
    cell: tuple[int, int] | None = None
    for word in words:
        if not word.glued:
            cell = lattice.cell_at((word.x0 + word.x1) / 2, word.y - word.size / 2)
        (others if cell is None else cells[cell]).append(word)
    return cells, others


def _table(cells: dict[tuple[int, int], list[Word]], lattice: Lattice) -> Segment | None:
    """Return a table as one segment; None if its lines are those of a drawing, or do not part its rows."""
    lines_of_cell = {cell: [line.text for line in lines_of(segments_of(words))] for cell, words in cells.items()}
    rows, columns = len(lattice.ys) - 1, len(lattice.xs) - 1
    if _holds_rows(lines_of_cell, columns):
        return None
    grid = [[_shown(row, column, lines_of_cell, lattice) for column in range(columns)] for row in range(rows)]
    filled = sum(bool(text) for row in grid for text in row)
    if filled < LEAST_FILLED * rows * columns or sum(any(column) for column in zip(*grid, strict=True)) < LEAST:
        return None
    titles, body = _titles(grid, lattice)
    table = grid_table(body)
    if table is None or not table.rows:
        return None
    words = [word for few in cells.values() for word in few]
    written = "\n\n".join([*titles, table.markdown()])
    plain = " ".join(text for row in grid for text, _ in groupby(row) if text)
    size = sorted(word.size for word in words)[len(words) // 2]
    return Segment(plain, lattice.xs[0], lattice.xs[-1], min(word.y for word in words), size, written)


def _holds_rows(lines_of_cell: dict[tuple[int, int], list[str]], columns: int) -> bool:
    """Return whether the lines between rows are not all drawn, so that cells hold several rows.

    Then figures stand below each other, or most cells with lines below each other hold as many as their neighbours.
    """
    if any(sum(map(is_value, lines)) > 1 for lines in lines_of_cell.values()):
        return True
    heights: dict[int, list[int]] = defaultdict(list)
    for (row, _), lines in lines_of_cell.items():
        if row:
            heights[row].append(len(lines))
    wrapped = [few for few in heights.values() if max(few) > 1]
    even = [few for few in wrapped if len(few) == columns and min(few) == max(few)]
    return bool(even) and 2 * len(even) >= len(wrapped) and (len(even) > 1 or columns > LEAST)


def _shown(row: int, column: int, lines: dict[tuple[int, int], list[str]], lattice: Lattice) -> str:
    corner = lattice.corner(row, column)
    text = ""
    for line in lines.get(corner, ()):
        text = joined(text, line) if text else line
    return text


def _titles(grid: list[list[str]], lattice: Lattice) -> tuple[list[str], list[list[str]]]:
    """Part the titles above the names of columns from the table; a cell over all columns stands in the first alone."""
    body = [[row[0], *[""] * (len(row) - 1)] if _is_across(at, lattice) else row for at, row in enumerate(grid)]
    titles = 0
    while titles < len(grid) and _is_across(titles, lattice):
        titles += 1
    return [text for row in body[:titles] if (text := row[0])], body[titles:]


def _is_across(row: int, lattice: Lattice) -> bool:
    return len({lattice.corner(row, column) for column in range(len(lattice.xs) - 1)}) == 1
