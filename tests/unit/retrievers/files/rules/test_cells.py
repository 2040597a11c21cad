"""Cells of a notebook: where they begin, and which of them lines are in."""

import pytest

from querymill_workers.retrievers.files.rules.cells import begins_cell, cells_label, cells_of
from querymill_workers.retrievers.files.rules.definitions import definitions_of

LINES = [
    "# notebook: python",
    "# %% cell 1 [markdown]",
    "# Pots",
    "# %% cell 2",
    "x = 1",
    "",
    "y = 2",
    "# %% cell 3",
    "z",
]


@pytest.mark.parametrize(
    ("shown", "cells"),
    [([(1, 1)], []), ([(1, 3)], [1]), ([(5, 5)], [2]), ([(3, 4), (9, 9)], [1, 2, 3]), ([], []), ([(9, 40)], [3])],
)
def test_lines_are_in_the_cell_that_begins_before_them(shown: list[tuple[int, int]], cells: list[int]) -> None:
    assert cells_of("a.ipynb", LINES, shown) == cells
    assert cells_of("a.py", LINES, shown) == []


def test_cells_are_named() -> None:
    assert [cells_label(numbers) for numbers in ([], [3], [3, 4])] == ["", "cell 3", "cells 3, 4"]


def test_only_the_line_of_a_cell_begins_one() -> None:
    begin = [
        "# %% cell 1",
        "// %% cell 12 [markdown]",
        "-- %% cell 3",
        "# %%",
        "# %% cell",
        "x # %% cell 1",
        " # %% cell 1",
    ]
    assert [begins_cell(line) for line in begin] == [True, True, True, False, False, False, False]


def test_a_cell_is_a_piece_of_its_own() -> None:
    assert [definition.lines for definition in definitions_of("\n".join(LINES), [])] == [(1, 1), (2, 3), (4, 7), (8, 9)]
