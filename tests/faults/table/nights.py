"""Which lines a night runs: the servers take turns, and on each the lines, some a night."""

from collections.abc import Mapping
from typing import Final

from tests.faults.table.lines import ALL, Line
from tests.faults.table.stage import Servers

#: So many lines at least are done in half an hour.
LINES_A_NIGHT: Final = 10


def lines_of_night(day: int, lines: Mapping[str, Line]) -> tuple[Servers, list[Line]]:
    """Return the servers of a day, and all lines on them, those first that are due.

    With thirty lines on each of three servers, day 9 begins the first line again: a round takes nine nights.
    """
    on, night = ALL[day % len(ALL)], day // len(ALL)
    there = [line for line in lines.values() if on in line.on]
    first = night * LINES_A_NIGHT % len(there)
    return on, there[first:] + there[:first]
