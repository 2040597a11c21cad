"""Rows of cells become tables with their headings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_reading.rules.grids import grid_table
from querymill_reading.rules.tables import Cell, is_value, tables, with_signs
from querymill_reading.rules.written_tables import Table


def row(*cells: tuple[str, float, float]) -> list[Cell]:
    return [Cell(*cell) for cell in cells]


def test_the_worked_example() -> None:
    found = tables([
        row(("2019", 200, 220), ("2018", 300, 320)),
        row(("Fixed price", 10, 60), ("1,452", 200, 225), ("1,146", 300, 325)),
    ])  # fmt: skip
    assert found == [Table(("", "2019", "2018"), (("Fixed price", "1,452", "1,146"),))]
    assert found[0].markdown() == "|  | 2019 | 2018 |\n| --- | --- | --- |\n| Fixed price | 1,452 | 1,146 |"


def test_a_name_over_several_columns_is_that_of_each() -> None:
    (table,) = tables([
        row(("Three months", 205, 310), ("Six months", 405, 510)),
        row(("2023", 200, 220), ("2022", 290, 310), ("2023", 400, 420), ("2022", 490, 510)),
        row(("Revenue", 10, 60), ("1", 210, 220), ("2", 300, 310), ("3", 410, 420), ("4", 500, 510)),
    ])  # fmt: skip
    assert table.header == ("", "Three months / 2023", "Three months / 2022", "Six months / 2023", "Six months / 2022")


def test_a_name_in_two_lines_is_one_and_a_name_of_one_column_is_not_spread() -> None:
    (table,) = tables([
        row(("Votes", 298, 322)),
        row(("Name", 10, 40), ("Votes For", 200, 240), ("Against", 290, 330)),
        row(("Ada Moe", 10, 60), ("310", 210, 230), ("12", 305, 315)),
    ])  # fmt: skip
    assert table.header == ("Name", "Votes For", "Votes Against")


def test_an_empty_cell_stays_empty() -> None:
    (table,) = tables([
        row(("Part", 10, 40), ("Place", 100, 140), ("Count", 200, 240)),
        row(("A1", 10, 30), ("B-07", 100, 130), ("778", 210, 230)),
        row(("A2", 10, 30), ("12", 215, 230)),
    ])  # fmt: skip
    assert table.rows[1] == ("A2", "", "12")


def test_signs_join_their_figure() -> None:
    cells = row(("Loss", 1, 2), ("$", 5, 6), ("(7", 7, 8), (")", 8, 9), ("12", 10, 11), ("%", 12, 13))
    assert [cell.text for cell in with_signs(cells)] == ["Loss", "$(7)", "12%"]


def test_a_wrapped_name_of_a_row_is_one() -> None:
    head = row(("2023", 200, 220), ("2022", 300, 320))
    below = [row(("Cash used in", 10, 60)), row(("operations", 10, 60), ("(5)", 205, 220), ("(6)", 305, 320))]
    assert tables([head, *below])[0].rows == (("Cash used in operations", "(5)", "(6)"),)
    above = [row(("Cash used in", 10, 60), ("(5)", 205, 220), ("(6)", 305, 320)), row(("operations", 10, 60))]
    assert tables([head, *above])[0].rows == (("Cash used in operations", "(5)", "(6)"),)


def test_names_of_columns_that_occur_again_begin_a_table() -> None:
    def table(year: str) -> list[list[Cell]]:
        return [row((year, 200, 220)), row(("Sales", 10, 60), ("7", 210, 215))]

    assert [found.header for found in tables([*table("2023"), *table("2022")])] == [("", "2023"), ("", "2022")]


def test_names_of_rows_at_two_depths_are_one_column() -> None:
    (table,) = tables([
        row(("2023", 200, 220)),
        row(("Part I", 10, 40), ("12", 210, 220)),
        row(("Item 1", 60, 90), ("14", 210, 220)),
    ], least_gap=5)  # fmt: skip
    assert table == Table(("", "2023"), (("Part I", "12"), ("Item 1", "14")))


def test_a_bar_in_a_text_is_no_border() -> None:
    assert Table(("a|b",), (("c\nd",),)).markdown() == "| a¦b |\n| --- |\n| c d |"


@pytest.mark.parametrize("text", ["1,452", "(7)", "$12.50", "—", "N/A", "6.4%", "$-", "2,023.5", "12 [1]"])
def test_values(text: str) -> None:
    assert is_value(text)


@pytest.mark.parametrize("text", ["2019", "FY 2022", "2022 $ million", "Level 1", "July 29, 2023", "Total", "2023 [1]"])
def test_names(text: str) -> None:
    assert not is_value(text)


PLACES = st.tuples(st.text("ab1$%", min_size=1, max_size=4), st.integers(0, 400), st.integers(1, 80))


@given(st.lists(st.lists(PLACES, max_size=5), max_size=8))
def test_no_text_is_lost_and_every_row_has_every_column(rows: list[list[tuple[str, int, int]]]) -> None:
    placed = [sorted((Cell(text, x, x + width) for text, x, width in line), key=lambda cell: cell.x0) for line in rows]
    found = tables([line for line in placed if line])
    for table in found:
        assert {len(line) for line in table.rows} <= {len(table.header)}
    if found:
        shown = "".join(text for table in found for line in (table.header, *table.rows) for text in line)
        assert all(sign in shown for line in placed for cell in line for sign in cell.text)


def test_a_grid_joins_rows_of_names_and_leaves_out_what_is_empty() -> None:
    grid = [["", "2022", "2022", ""], ["Part", "Sales", "EBIT", ""], ["Bags", "12", "3", ""], ["", "", "", ""]]
    assert grid_table(grid) == Table(("Part", "2022 / Sales", "2022 / EBIT"), (("Bags", "12", "3"),))
    assert grid_table([["", ""]]) is None
