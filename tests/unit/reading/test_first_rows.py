"""Whether the first row of a table names its columns, and what stands at the head of its later pages."""

from itertools import product
from pathlib import Path

import openpyxl
import pytest

from querymill_reading.rules.first_rows import FirstRow, first_row_of
from tests.fixtures.reading import read, text_of
from tests.unit.reading.test_open_document_tables import cells, row
from tests.unit.reading.test_other_programs import open_document

PORTS = ["Vik", "Moss", "Tinn", "Sand", "Bod", "Lom", "Fet", "Hol", "Ror"]


def table(first: str, *others: str) -> list[list[str]]:
    return [line.split("|") for line in (first, *others)]


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        # Words above values, digits or categories, and short texts above long ones, are names.
        (table("Port|Fee", "Vik|5"), FirstRow.NAMES),
        (table("Port|Opened", "Vik|May 2019", "Moss|June 2020", "Tinn|May 2021"), FirstRow.NAMES),
        (table("Port|State", "Vik|open", "Moss|shut", "Tinn|open", "Sand|shut"), FirstRow.NAMES),
        (table("Port|Rule", *(f"{port}|Wait at the outer buoy of {port} in fog" for port in PORTS)), FirstRow.NAMES),
        (table("State|Port", "open|Vik", "shut|Moss", "State|Port", "open|Tinn", "shut|Sand"), FirstRow.NAMES),
        (table("Pilot|Mail", "Ada|ada@vik", "Bo|bo@moss", "Cy|cy@tinn"), FirstRow.NAMES),
        (table("Option|Meaning", "limit|rows", "depth|levels", "width|letters"), FirstRow.NAMES),
        # A category that occurs again, and values above values, are data.
        (table("Vik|open", "Moss|shut", "Tinn|open", "Sand|shut"), FirstRow.DATA),
        (table("Vik|man|22", "Moss|woman|31", "Tinn|man|40", "Sand|woman|27"), FirstRow.DATA),
        (table("Vik|5", "Moss|6", "Tinn|7", "Sand|8"), FirstRow.DATA),
        (table("9|2024-05-01", "7|2024-05-02", "8|2024-05-03", "6|2024-05-04"), FirstRow.UNKNOWN),
        (table("ask|Which boats leave Vik at noon on a Sunday", *(f"ask|What does {port} cost a boat at night"
               for port in PORTS)), FirstRow.DATA),
        # Both, or neither, is not known.
        (table("Port|Rule", "Vik|Wait", "Moss|Go", "Tinn|Turn"), FirstRow.UNKNOWN),
        (table("open|none", "open|5", "shut|6", "open|7"), FirstRow.UNKNOWN),
        (table("Port|1|2|3", "Vik|5|4|9", "Moss|6|2|8", "Tinn|7|1|4"), FirstRow.UNKNOWN),
        ([], FirstRow.UNKNOWN),
    ],
)  # fmt: skip
def test_a_first_row_is_judged_by_the_rows_below_it(rows: list[list[str]], kind: FirstRow) -> None:
    assert first_row_of(rows) is kind


def written(path: Path, rows: list[list[str]]) -> Path:
    if path.suffix == ".csv":
        path.write_text("\n".join(",".join(row) for row in rows))
    elif path.suffix == ".ods":
        body = f'<table:table table:name="Sheet">{"".join(row(cells(*each)) for each in rows)}</table:table>'
        path.write_bytes(open_document("spreadsheet", body))
    else:
        book = openpyxl.Workbook()
        for each in rows:
            book.active.append([int(cell) if cell.isdecimal() else cell for cell in each])
        book.save(path)
    return path


FORMATS = ["csv", "xlsx", "ods"]


@pytest.mark.parametrize("ending", FORMATS)
def test_a_first_row_of_data_is_written_once(tmp_path: Path, ending: str) -> None:
    rows = [[f"Port {at}", ("open", "shut")[at % 2], str(at * 37 % 101)] for at in range(250)]
    found = read(written(tmp_path / f"a.{ending}", rows))
    assert text_of(found).count("| Port 0 | open | 0 |") == 1
    assert [page.text.count("| column 1 | column 2 | column 3 |\n| ---") for page in found.pages] == [1, 1, 1]
    assert "---" not in found.pages[0].text.split("Port 0")[1]


@pytest.mark.parametrize("ending", FORMATS)
def test_a_first_row_of_which_nothing_is_known_is_not_repeated(tmp_path: Path, ending: str) -> None:
    words = ["".join(each) for each in product("bdfgklmn", "aeiou", "nrst", "oie")]
    rows = [[f"{word}l", word] for word in words[:250]]
    rows[0] = ["apple", "apfel"]
    found = read(written(tmp_path / f"a.{ending}", rows))
    assert [page.text.count("apple") for page in found.pages] == [1, 0, 0]
    assert "|  |  |\n| --- | --- |\n| " in found.pages[2].text


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("names", [["Port", "State", "Fee"], ["Port", "State", ""], ["Port", "", "Fee"]])
def test_names_of_columns_are_repeated(tmp_path: Path, ending: str, names: list[str]) -> None:
    rows = [names, *([f"Port {at}", ("open", "shut")[at % 2], str(at)] for at in range(250))]
    found = read(written(tmp_path / f"a.{ending}", rows))
    assert [page.text.count(f"| {' | '.join(names)} |\n| ---") for page in found.pages] == [1, 1, 1]


def test_a_list_in_a_sheet_gets_no_name_and_repeats_none(tmp_path: Path) -> None:
    found = read(written(tmp_path / "a.xlsx", [[str(at * 37 % 1_009)] for at in range(1, 251)]))
    assert [page.text.split("\n")[2] for page in found.pages] == ["| 37 |", "|  |", "|  |"]
