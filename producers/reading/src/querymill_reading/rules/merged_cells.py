"""The places of a table that merged cells cover, whatever format it stands in."""

from dataclasses import dataclass, field

from querymill_reading.rules.column_names import MAX_NAME_CHARS


@dataclass(slots=True)
class Covered:
    """The places of a table that merged cells cover, row by row. A writer may leave out the cells in them."""

    row: int = 0
    below: dict[int, tuple[int, int, str]] = field(default_factory=dict)

    def cover(self, column: int, span: int, deep: int, text: str) -> None:
        """Note which columns a cell of the row covers, and how many rows of them."""
        for at in range(column, column + span):
            self.below[at] = (self.row + deep, column, text)

    def at(self, column: int) -> str:
        """Return the text of the cell that covers a column; nothing if none does, or if it is no name."""
        end, _, text = self.below.get(column, (0, 0, ""))
        return text if end > self.row and len(text) <= MAX_NAME_CHARS and " | " not in text else ""

    def fill(self, cells: list[str]) -> None:
        """Add the texts of cells that cover the next columns of a row."""
        while self.below.get(len(cells), (0,))[0] > self.row:
            cells.append(self.at(len(cells)))

    def goes_on(self) -> bool:
        """Return whether a row without a text belongs to the one above, several cells of which reach over it."""
        return len({start for end, start, text in self.below.values() if end > self.row and text}) > 1
