"""Which rows name the columns of a table: in grids, sheets, pages and separated values."""

from pathlib import Path
from typing import Any

import docx
import openpyxl
import pptx
import pytest
from pptx.util import Inches

from querymill_reading.rules.grids import grid_table
from querymill_reading.rules.sheets import sheet_pages
from tests.fixtures.reading import read, text_of
from tests.unit.reading.test_other_programs import open_document

LONG = "The pilot waits at the outer buoy until the harbour master lets the ship in, by day and by night"
TWO = "Boats wait at the outer buoy in fog. The pilot decides"


def lines(grid: str) -> list[list[str]]:
    return [[cell.strip() for cell in row.split("|")] for row in grid.strip().split("\n")]


def with_table(ending: str, rows: int, columns: int) -> tuple[Any, Any]:
    """Return a text or a deck with an empty table, and the table."""
    if ending == "docx":
        text = docx.Document()
        return text, text.add_table(rows, columns)
    deck = pptx.Presentation()
    shapes = deck.slides.add_slide(deck.slide_layouts[6]).shapes
    return deck, shapes.add_table(rows, columns, Inches(0), Inches(0), Inches(5), Inches(3)).table


def shown(grid: str) -> list[str]:
    table = grid_table(lines(grid))
    assert table is not None
    return ["|".join(row) for row in (table.header, *table.rows)]


@pytest.mark.parametrize(
    ("grid", "header", "first"),
    [
        # Rows of words above the first value are rows of data.
        ("Port|Pilot|Limit\nTinn|Ada|none\nMoss|Bo|by day\nVik|Cy|5", "Port|Pilot|Limit", "Tinn|Ada|none"),
        ("|gcp|aws\nWho asks?|ask|answer\nCost|5|6", "|gcp|aws", "Who asks?|ask|answer"),
        (f"Port|Rule|Fee\n|{LONG}|\nVik|by day|5", "Port|Rule|Fee", f"|{LONG}|"),
        (f"Port|Rule|Fee\n|{TWO}|\nVik|by day|5", "Port|Rule|Fee", f"|{TWO}|"),
        ("Firm|Nordhav|Sydvik\nFounded|May 2019|June 2020\nCrew|5|6", "Firm|Nordhav|Sydvik",
         "Founded|May 2019|June 2020"),
        # Small Roman numerals are values where the column goes on in numbers.
        ("Contents|Page\nPreface|v\n|xi\nIndex|83", "Contents|Page", "Preface|v"),
        ("|Page\n|v\n|xi\nIndex|83", "|Page", "|v"),
        # Names in several rows stay names.
        ("|2022|2022\nPart|Sales|EBIT\nBags|12|3", "Part|2022 / Sales|2022 / EBIT", "Bags|12|3"),
        ("Port|Fee|Fee\nPort|Day|Night\nVik|5|6", "Port|Fee / Day|Fee / Night", "Vik|5|6"),
        ("|Year ended|Year ended\n(in millions)||\n|2023|2022\nSales|5|6",
         "(in millions)|Year ended / 2023|Year ended / 2022", "Sales|5|6"),
        ("In millions|Three months ended|Six months ended\nUnaudited|2023|2023\nSales|5|6",
         "In millions / Unaudited|Three months ended / 2023|Six months ended / 2023", "Sales|5|6"),
        ("Dues|Dues|Dues\nPort|Pilot|Fee\nVik|Ada|5", "Dues / Port|Dues / Pilot|Dues / Fee", "Vik|Ada|5"),
        ("Sum of fees|Columns||\nRows|Tinn|Moss|Vik\nAda|5|6|7",
         "Sum of fees / Rows|Columns / Tinn|Moss|Vik", "Ada|5|6|7"),
        ("Port|Fee|\nVik|by day|a note\nMoss|5|", "Port|Fee|", "Vik|by day|a note"),
        ("|Salary|Bonus\nName|($)|($)\nAda|5|6", "Name|Salary / ($)|Bonus / ($)", "Ada|5|6"),
    ],
)  # fmt: skip
def test_the_rows_that_name_the_columns_of_a_grid(grid: str, header: str, first: str) -> None:
    assert shown(grid)[:2] == [header, first]


HEAD = "<tr><th>Name<th>What it is<th>Default"


@pytest.mark.parametrize(
    ("rows", "header"),
    [
        (f"{HEAD}<tr><td>limit<td>rows<td>none<tr><td>depth<td>levels<td>5", "| Name | What it is | Default |"),
        ("<tr><td>Name<td>What<td>Default<tr><td>limit<td>rows<td>none<tr><td>depth<td>levels<td>5",
         "| Name | What | Default |"),
        ("<thead><tr><td>Name<td>Fee<tr><td>of a port<td>by day</thead><tr><td>Vik<td>5",
         "| Name of a port | Fee by day |"),
        ("<tr><th>Port<th>1.0<th>2.0<tr><td>Vik<td>yes<td>no<tr><td>Moss<td>5<td>6", "| Port | 1.0 | 2.0 |"),
        ("<tr><td><td align=right>PAGE<tr><td>Preface<td>v<tr><td>List<td>vii<tr><td>Chapter I<td>3", "|  | PAGE |"),
        ("<tr><td><td colspan=2>Year ended<tr><td>In millions<td>2023<td>2022<tr><td>Sales<td>5<td>6",
         "| In millions | Year ended / 2023 | Year ended / 2022 |"),
        ("<tr><td><td>March 31,<td>March 31,<tr><td><td>2023<td>2022<tr><td>Sales<td>5<td>6",
         "|  | March 31, 2023 | March 31, 2022 |"),
    ],
)  # fmt: skip
def test_the_rows_that_name_the_columns_of_a_page(tmp_path: Path, rows: str, header: str) -> None:
    assert text_of(read(tmp_path / "a.html", f"<table>{rows}</table>")).split("\n")[0] == header


@pytest.mark.parametrize("ending", ["docx", "pptx", "xlsx"])
def test_rows_of_words_are_data_in_each_format(tmp_path: Path, ending: str) -> None:
    grid = lines("Port|Pilot|Limit\nTinn|Ada|none\nMoss|Bo|by day\nVik|Cy|5")
    path = tmp_path / f"a.{ending}"
    if ending == "xlsx":
        book = openpyxl.Workbook()
        for row in grid:
            book.active.append(row)
        book.save(path)
    else:
        opened, table = with_table(ending, 4, 3)
        for at, row in enumerate(grid):
            for column, cell in enumerate(row):
                table.cell(at, column).text = cell
        opened.save(str(path))
    assert "| Port | Pilot | Limit |\n| --- | --- | --- |\n| Tinn | Ada | none |" in text_of(read(path))


@pytest.mark.parametrize(
    ("written", "held"),
    [
        (",gcp,aws\nWho?,Ada,Bo\nWhy?,It rains,It snows\nCost,5,6\n",
         "|  | gcp | aws |\n| --- | --- | --- |\n| Who? | Ada | Bo |\n| Why? | It rains | It snows |\n"),
        ("Port,Fee\nVik,5\n\nMoss,6\n,\nTinn,7\n", "| Vik | 5 |\n| Moss | 6 |\n| Tinn | 7 |"),
        ("Port,Note,Fee\nVik,,5\n\nMoss,,6\n",
         "| Port | Note | Fee |\n| --- | --- | --- |\n| Vik |  | 5 |\n| Moss |  | 6 |"),
        ("a,,b\n1,,2\n3,,4\n", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("1,Ada\n2,Bo\n\n3,Cy\n", "| column 1 | column 2 |\n| --- | --- |\n| 1 | Ada |\n| 2 | Bo |\n| 3 | Cy |"),
        ("Port,Fee\nVik,5\n\nShip,Crew\nAda,7\n", "| Ship | Crew |\n| --- | --- |\n| Ada | 7 |"),
        ("Dues of 2024\n\nPort,Pilot,Fee\nVik,Ada,5\n", "Dues of 2024\n\n| Port | Pilot | Fee |"),
        ("Port,Rule\nVik,wait\n\nMoss,go\n", "| Vik | wait |\n| Moss | go |"),
        (f'Port,"{LONG}"\nVik,5\n', f"| Port | {LONG} |\n| --- | --- |\n| Vik | 5 |"),
    ],
)  # fmt: skip
def test_separated_values_have_one_row_of_names(tmp_path: Path, written: str, held: str) -> None:
    assert held in text_of(read(tmp_path / "a.csv", written))


@pytest.mark.parametrize(
    ("grid", "shown"),
    [
        # Parts of one table have the names above them.
        ("|2007|2008\nCash|5|6\n\nFixed:| |\nLand|7|8\n\nTotal|12|14",
         ["|  | 2007 | 2008 |\n| --- | --- | --- |\n| Cash | 5 | 6 |",
          "Fixed:\n\n|  | 2007 | 2008 |\n| --- | --- | --- |\n| Land | 7 | 8 |",
          "|  | 2007 | 2008 |\n| --- | --- | --- |\n| Total | 12 | 14 |"]),
        ("Port|Rule|Fee\nVik|wait|by day\n\nTotal|5|6",
         ["| Port | Rule | Fee |\n| --- | --- | --- |\n| Vik | wait | by day |",
          "| Total | 5 | 6 |\n| --- | --- | --- |"]),
        ("Port|Fee\nVik|5\n\nRate|7", ["| Port | Fee |\n| --- | --- |\n| Vik | 5 |", "| Rate | 7 |\n| --- | --- |"]),
        ("Port|Day|Night\nVik|5|6\n\nShip|Crew|Guests\nAda|7|8",
         ["| Port | Day | Night |\n| --- | --- | --- |\n| Vik | 5 | 6 |",
          "| Ship | Crew | Guests |\n| --- | --- | --- |\n| Ada | 7 | 8 |"]),
        ("Nordhav||Balance sheet\n|2007|2008\nCash|5|6",
         ["Nordhav · Balance sheet\n\n|  | 2007 | 2008 |\n| --- | --- | --- |\n| Cash | 5 | 6 |"]),
        ("Millions||2008\n|Note|Audited\nCash|5|6",
         ["| Millions | Note | 2008 / Audited |\n| --- | --- | --- |\n| Cash | 5 | 6 |"]),
        # A cell that is empty in a row alone separates nothing.
        ("Aug|3|4|5\n\nSep|6||7\n\nOct|8|9|1",
         ["| Aug | 3 | 4 | 5 |\n| --- | --- | --- | --- |", "| Sep | 6 | 7 |\n| --- | --- | --- |",
          "| Oct | 8 | 9 | 1 |\n| --- | --- | --- | --- |"]),
        ("Port|Day|Night\nVik|5|6\n\nTotal||6",
         ["| Port | Day | Night |\n| --- | --- | --- |\n| Vik | 5 | 6 |",
          "| Port | Day | Night |\n| --- | --- | --- |\n| Total |  | 6 |"]),
        ("Dues||Page 3\n\nPort|Day|Night\nVik|5|6",
         ["Dues", "Page 3", "| Port | Day | Night |\n| --- | --- | --- |\n| Vik | 5 | 6 |"]),
        ("Port|Fee||Ship|Crew\nVik|5||Ada|7\n\nNote|of|all|five|columns",
         ["| Port | Fee |\n| --- | --- |\n| Vik | 5 |", "| Ship | Crew |\n| --- | --- |\n| Ada | 7 |",
          "| Note | of | all | five | columns |\n| --- | --- | --- | --- | --- |"]),
    ],
)  # fmt: skip
def test_the_parts_of_a_sheet(grid: str, shown: list[str]) -> None:
    rows = [row.split("|") for row in grid.split("\n")]
    (page,) = sheet_pages("Dues", rows)
    assert page == "\n\n".join(["Dues", *shown])


@pytest.mark.parametrize("blank", ["", " ", "\u00a0"])
def test_rows_of_blanks_and_of_merges_from_above_are_none(tmp_path: Path, blank: str) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["Month", "Late", "Away"], ["May", 3, 4], [blank] * 4, ["June", 5, 6], [blank] * 4, ["July", 7, 8]):
        sheet.append(row)
    for top in (2, 4):
        for column in "AC":
            sheet.merge_cells(f"{column}{top}:{column}{top + 1}")
    book.save(tmp_path / "a.xlsx")
    rows = "| May | 3 | 4 |\n| June | 5 | 6 |\n| July | 7 | 8 |"
    assert text_of(read(tmp_path / "a.xlsx")) == f"Sheet\n\n| Month | Late | Away |\n| --- | --- | --- |\n{rows}"


@pytest.mark.parametrize(
    ("over", "shown"),
    [
        ("B1:C1", "| Port | Fee / Day | Fee / Night |\n| --- | --- | --- |\n| Vik | 5 | 6 |"),
        ("A1:C1", "Fee\n\n| Port | Day | Night |\n| --- | --- | --- |\n| Vik | 5 | 6 |"),
    ],
)
@pytest.mark.parametrize("ending", ["xlsx", "ods"])
def test_a_merged_cell_alone_in_a_row_is_a_name_beside_the_first_column_and_else_a_title(
    tmp_path: Path, over: str, shown: str, ending: str
) -> None:
    path = tmp_path / f"a.{ending}"
    if ending == "ods":
        span = f'<table:table-cell table:number-columns-spanned="{3 if over[0] == "A" else 2}"><text:p>Fee</text:p>'
        rows = (
            "".join(f"<table:table-cell><text:p>{text}</text:p></table:table-cell>" for text in texts)
            for texts in (["Port", "Day", "Night"], ["Vik", "5", "6"])
        )
        named = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
        empty = "" if over[0] == "A" else "<table:table-cell/>"
        first = f"<table:table-row>{empty}{span}</table:table-cell></table:table-row>"
        body = f'<table:table table:name="Sheet">{first}{named}</table:table>'
        path.write_bytes(open_document("spreadsheet", body))
    else:
        book = openpyxl.Workbook()
        for row in ([], ["Port", "Day", "Night"], ["Vik", 5, 6]):
            book.active.append(row)
        book.active[over[:2]] = "Fee"
        book.active.merge_cells(over)
        book.save(path)
    assert text_of(read(path)) == f"Sheet\n\n{shown}"


@pytest.mark.parametrize("ending", ["docx", "pptx"])
def test_a_row_of_merges_from_above_is_none_in_other_formats(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    opened, table = with_table(ending, 4, 2)
    for at, row in enumerate([["Port", "Fee"], ["Vik", "5"], ["", ""], ["Moss", "6"]]):
        for column, cell in enumerate(row):
            if at != 2:
                table.cell(at, column).text = cell
    for column in (0, 1):
        table.cell(1, column).merge(table.cell(2, column))
    opened.save(str(path))
    assert "| Vik | 5 |\n| Moss | 6 |" in text_of(read(path))


@pytest.mark.parametrize(
    ("below", "shown"),
    [
        ([["Moss", "4", "5"]], "| Moss | 4 | 5 |"),
        ([["Moss", "4", "5"], ["Tinn", "6", "7"]], "| Tinn | 6 | 7 |"),
        ([["Moss", "4", "5"], ["Lighthouses"], ["Tinn", "6", "7"]], "| Lighthouses |  |  |"),
    ],
)
def test_rows_below_an_empty_one_may_be_narrower_than_the_names_above(below: list[list[str]], shown: str) -> None:
    names = [["", "2024", "2023", "2022"], ["Vik", "1", "2", "3"], []]
    (page,) = sheet_pages("Calls", [*names, *below])
    assert "|  | 2024 | 2023 | 2022 |" in page
    assert shown in page
