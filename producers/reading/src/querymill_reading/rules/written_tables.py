"""A table with its names and rows, as it is written in Markdown."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the heading of each column, and the cells of each row, the name of the row first."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """Write it with a rule under its one row of headings."""
        lines = [self.header, *self.rows]
        written = ["| " + " | ".join(map(_in_bars, line)) + " |" for line in lines]
        written.insert(1, "|" + " --- |" * len(self.header))
        return "\n".join(written)


def with_one_value(table: Table) -> Table:
    """Join the columns of values if no name parts them and no row has two: those at the ends of the bars of a chart."""
    first, *names = table.header
    said = set(filter(None, names))
    if len(names) < 3 or len(said) > 1 or any(sum(map(bool, row[1:])) > 1 for row in table.rows):
        return table
    header = ("" if first in said else first, *(said or {""}))
    return Table(header, tuple((row[0], "".join(row[1:])) for row in table.rows))


def _in_bars(text: str) -> str:
    """Return the text of a cell; a bar in it would look like the border of a cell."""
    return " ".join(text.split()).replace("|", "¦")
