"""Days and diagrams of sheets, as they are shown."""

import zipfile
from pathlib import Path

import openpyxl
import pytest
from openpyxl.utils.datetime import CALENDAR_MAC_1904

from querymill_reading.formats.charts import texts_of_chart
from querymill_reading.formats.zipped import xml_of
from querymill_reading.rules.number_formats import DayNumber, shown_day
from tests.fixtures import documents
from tests.fixtures.reading import read, said, text_of
from tests.unit.reading.test_siblings import DIAGRAM


@pytest.mark.parametrize(
    ("number", "code", "shown"),
    [
        (0, "m/d/yyyy", "1900-01-00"),
        (0, "d. mmmm yyyy h:mm", "1900-01-00"),
        (0.5, "m/d/yy h:mm", "1900-01-00 12:00"),
        (0.5, "m/d/yyyy", "1900-01-00"),
        (0, "mmm yyyy", "1900-01"),
        (0, "yyyy", "1900"),
        (0, "h:mm", "00:00"),
        (0.75, "h:mm AM/PM", "18:00"),
        (0, 'yyyy-mm-dd;;"none"', "none"),
        (60, "yyyy-mm-dd", "1900-02-29"),
        (60.5, "yyyy-mm-dd h:mm", "1900-02-29 12:00"),
        (-5, "yyyy-mm-dd", "-5"),
        (3_000_000, "yyyy-mm-dd", "3000000"),
        (59, "yyyy-mm-dd", "1900-02-28"),
        (61, "yyyy-mm-dd", "1900-03-01"),
    ],
)
def test_a_day_that_no_date_stands_for_is_shown_as_a_sheet_shows_it(number: float, code: str, shown: str) -> None:
    assert shown_day(DayNumber(number), code) == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "1904-01-01"), (0.5, "1904-01-01 12:00"), (60, "1904-03-01"), (-1, "-1904-01-02"), (2_957_005, "2957005")],
)
def test_days_since_1904(number: float, shown: str) -> None:
    assert shown_day(DayNumber(number, is_since_1904=True), "yyyy-mm-dd h:mm") == shown


@pytest.mark.parametrize("is_since_1904", [False, True])
def test_days_in_a_workbook(tmp_path: Path, is_since_1904: bool) -> None:
    book = openpyxl.Workbook()
    if is_since_1904:
        book.epoch = CALENDAR_MAC_1904
    sheet = book.active
    sheet.append(["Zero", "Half", "Time", "Later", "Before"])
    sheet.append([0, 0.5, 0.5, 31, -2])
    for cell, code in zip(sheet[2], ["m/d/yyyy", "m/d/yyyy h:mm", "h:mm", "m/d/yyyy", "m/d/yyyy"], strict=True):
        cell.number_format = code
    book.save(tmp_path / "a.xlsx")
    held = (
        "| 1904-01-01 | 1904-01-01 12:00 | 12:00 | 1904-02-01 | -1904-01-03 |"
        if is_since_1904
        else "| 1900-01-00 | 1900-01-00 12:00 | 12:00 | 1900-01-31 | -2 |"
    )
    assert held in text_of(read(tmp_path / "a.xlsx"))


@pytest.mark.parametrize(("since", "day"), [("", "1900-01-31"), ('<c:date1904 val="1"/>', "1904-02-01")])
def test_days_of_a_chart(since: str, day: str) -> None:
    numbers = '<c:numRef><c:formatCode>{}</c:formatCode><c:pt idx="0"><c:v>31</c:v></c:pt></c:numRef>'
    chart = (
        f'<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart">{since}<c:chart><c:plotArea>'
        f"<c:ser><c:cat>{numbers.format('yyyy-mm-dd')}</c:cat><c:val>{numbers.format('0')}</c:val></c:ser>"
        "</c:plotArea></c:chart></c:chartSpace>"
    )
    (text,) = texts_of_chart(xml_of(chart.encode()))
    assert f"| {day} | 31 |" in text


RELATED = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def with_diagram(path: Path, diagram: str, target: str = "../diagrams/data1.xml") -> None:
    """Add a drawing with a diagram to the first sheet of a workbook."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    def relation(kind: str, target: str) -> bytes:
        return RELATED.format(f'<Relationship Id="rId1" Type="{KIND}/{kind}" Target="{target}"/>').encode()

    members["xl/worksheets/_rels/sheet1.xml.rels"] = relation("drawing", "../drawings/drawing1.xml")
    members["xl/drawings/_rels/drawing1.xml.rels"] = relation("diagramData", target)
    members["xl/drawings/drawing1.xml"] = (
        b'<x:wsDr xmlns:x="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing"/>'
    )
    members["xl/diagrams/data1.xml"] = diagram.encode()
    path.write_bytes(documents.zipped(members))


def test_the_texts_of_a_diagram_upon_a_sheet_are_read(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.save(tmp_path / "a.xlsx")
    with_diagram(tmp_path / "a.xlsx", DIAGRAM)
    assert text_of(read(tmp_path / "a.xlsx")) == "Sheet\n\nPlan\nBuild"


@pytest.mark.parametrize(("diagram", "target"), [("<broken", "../diagrams/data1.xml"), (DIAGRAM, "/xl/none.xml")])
def test_a_damaged_diagram_is_said_and_costs_no_cell(tmp_path: Path, diagram: str, target: str) -> None:
    path = tmp_path / "a.xlsx"
    book = openpyxl.Workbook()
    book.active.append(["Vik", 5])
    book.save(path)
    with_diagram(path, diagram, target)
    found = read(path)
    assert "| Vik | 5 |" in text_of(found)
    (remark,) = said(found)
    assert remark.startswith("sheet Sheet, diagram: ")
