"""What a hit looks like on a terminal: what it is, what it says about the question, and what its score is made of."""

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from querymill.cli.terminal import Console

_INDENT = 6
_MARK = "bold yellow"


def show_hit(
    console: Console,
    rank: int,
    score: str,
    heading: Text,
    *,
    says: Text | None = None,
    made_of: Iterable[str] = (),
    written_in: str = "",
) -> None:
    """Print a hit. Long lines wrap below their beginning.

    ``says`` is the part of its text to read first, ``made_of`` the equation of its score, and ``written_in`` the place
    in the source, on a line that is never wrapped, so that terminals can jump there.
    """
    line = Table.grid(padding=(0, 2, 0, 0))
    line.add_row(Text(f"{rank:>2}", "bold"), Text(score, "green"), heading)
    console.print(line)
    if says is not None and says.plain:
        _print_indented(console, says)
    for equation in made_of:
        _print_indented(console, Text(equation, "dim"))
    if written_in:
        console.print(Text(" " * _INDENT + written_in, "dim"), soft_wrap=True)


def _print_indented(console: Console, text: Text) -> None:
    for line in text.wrap(console, console.width - _INDENT):
        console.print(Text(" " * _INDENT).append_text(line))


def marked(text: str, marks: Sequence[tuple[int, int]]) -> Text:
    """Return a text with the places of the question's words emphasised."""
    shown = Text(text)
    for start, end in marks:
        shown.stylize(_MARK, start, end)
    return shown


def joined_ranks(ranks: Iterable[tuple[str, float, float]], k: float) -> str:
    """Return the sum of a weighted reciprocal rank fusion, of (channel, weight, rank) each.

    >>> joined_ranks([("words", 1, 2), ("vectors", 0.25, 1)], 10)
    '1 / (10 + rank 2 by words) + 0.25 / (10 + rank 1 by vectors)'
    """
    return " + ".join(f"{weight:g} / ({k:g} + rank {rank:g} by {channel})" for channel, weight, rank in ranks)
