"""OpenDocument's sheets and tables: copies of other files, hidden sheets and rows, values, and merged cells."""

from pathlib import Path

import pytest

from querymill_reading.document import Unreadable
from tests.fixtures.reading import read, said, text_of
from tests.unit.reading.test_other_programs import open_document, replaced


def cells(*texts: str) -> str:
    return "".join(f"<table:table-cell><text:p>{text}</text:p></table:table-cell>" for text in texts)


def row(content: str, **properties: str) -> str:
    written = "".join(f' table:{name.replace("_", "-")}="{value}"' for name, value in properties.items())
    return f"<table:table-row{written}>{content}</table:table-row>"


STYLES = (
    '<office:automatic-styles xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0">'
    '<style:style style:name="off" style:family="table"><style:table-properties table:display="false"/></style:style>'
    '<style:style style:name="on" style:family="table"><style:table-properties table:display="true"/></style:style>'
    "</office:automatic-styles>"
)


def with_styles(path: Path, body: str) -> Path:
    path.write_bytes(open_document("spreadsheet", body))
    replaced(path, "content.xml", "<office:body>", f"{STYLES}<office:body>")
    return path


def sheet(name: str, rows: str, style: str = "on", source: str = "") -> str:
    return f'<table:table table:name="{name}" table:style-name="{style}">{source}{rows}</table:table>'


SOURCE = '<table:table-source table:mode="copy-results-only"/>'


def test_copies_of_other_files_are_left_out_and_hidden_sheets_are_named(tmp_path: Path) -> None:
    path = with_styles(
        tmp_path / "a.ods",
        sheet("Dues", row(cells("Vik", "5")))
        + sheet("Back", row(cells("kept", "6")), "off")
        + sheet("'file:///b.ods'#Sheet1", row(cells("cached", "7")), "off", SOURCE)
        + sheet("'file:///b.ods'#Sheet2", row(cells("cached too", "8")), "on", SOURCE)
        + sheet("Linked", row(cells("shown", "9")), "on", SOURCE),
    )
    found = read(path)
    assert [page.text.split("\n")[0] for page in found.pages] == ["Dues", "Back", "Linked"]
    assert "cached" not in text_of(found)
    assert found.metadata["sheets"] == ["Dues", "Back", "Linked"]
    assert said(found) == [
        "sheet Back: a hidden sheet, read all the same",
        "2 sheets of another file: left out: a copy that formulas refer to",
    ]


def test_a_file_of_copies_alone_says_what_was_left_out(tmp_path: Path) -> None:
    path = with_styles(tmp_path / "a.ods", sheet("'file:///b.ods'#A", row(cells("cached", "7")), "off", SOURCE))
    with pytest.raises(Unreadable, match="1 sheet of another file: left out"):
        read(path)


@pytest.mark.parametrize(
    ("properties", "shown"),
    [
        ('office:value-type="string" office:string-value="by day"', "by day"),
        ('office:value-type="boolean" office:boolean-value="true"', "TRUE"),
        ('office:value-type="date" office:date-value="2024-05-01"', "2024-05-01"),
        ('office:value-type="date" office:date-value="2024-05-01T07:30:00"', "2024-05-01 07:30:00"),
        ('office:value-type="time" office:time-value="PT07H30M00S"', "07:30"),
        ('office:value-type="time" office:time-value="PT49H30M05S"', "49:30:05"),
        ('office:value-type="percentage" office:value="0.125"', "12.5%"),
        ('office:value-type="currency" office:value="12.5"', "12.5"),
        ('table:formula="of:=1=1" office:value-type="boolean" office:boolean-value="false"', "FALSE"),
        ('table:formula="of:=[.A1]" office:value-type="string"', "=[.A1]"),
    ],
)
def test_a_cell_without_a_text_shows_its_value(tmp_path: Path, properties: str, shown: str) -> None:
    content = row(cells("Port", "Fee")) + row(f"{cells('Vik')}<table:table-cell {properties}/>")
    found = read(tmp_path / "a.ods", open_document("spreadsheet", sheet("Dues", content)))
    assert f"| Vik | {shown} |" in text_of(found)


def test_hidden_rows_are_counted_as_often_as_they_are_repeated_if_they_have_a_text(tmp_path: Path) -> None:
    content = (
        row(cells("Port", "Fee"))
        + row(cells("Vik", "5"), visibility="collapse", number_rows_repeated="3")
        + row("<table:table-cell/>", visibility="collapse", number_rows_repeated="1000000")
        + row(cells("Moss", "6"), visibility="filter")
    )
    found = read(tmp_path / "a.ods", open_document("spreadsheet", sheet("Dues", content)))
    assert said(found) == ["sheet Dues: 4 hidden rows: read all the same"]


def spanned(text: str, *, across: int = 1, down: int = 1) -> str:
    properties = f'table:number-columns-spanned="{across}" table:number-rows-spanned="{down}"'
    return f"<table:table-cell {properties}><text:p>{text}</text:p></table:table-cell>"


COVERED = "<table:covered-table-cell/>"
INNER = f"<table:table>{row(cells('I', 'II'))}{row(cells('Ia', ''))}{row(cells('', 'IIb'))}</table:table>"


@pytest.mark.parametrize(
    ("rows", "held"),
    [
        (row(cells("Port") + spanned("Fee", across=2) + cells("Crew")) + row(cells("Vik", "5", "6", "7")),
         "| Port | Fee | Fee | Crew |\n| --- | --- | --- | --- |\n| Vik | 5 | 6 | 7 |"),
        (row(cells("Port") + spanned("Fee", across=2) + COVERED + cells("Crew")) + row(cells("Vik", "5", "6", "7")),
         "| Port | Fee | Fee | Crew |\n| --- | --- | --- | --- |\n| Vik | 5 | 6 | 7 |"),
        (row(cells("Port", "Fee")) + row(spanned("Vik", down=2) + cells("5")) + row(cells("6")),
         "| Vik | 5 |\n| Vik | 6 |"),
        (row(cells("Port", "Fee")) + row(spanned("Vik", down=4) + cells("5"))
         + row(COVERED + cells("6"), number_rows_repeated="3") + row(cells("Moss", "7")),
         "| Vik | 5 |\n| Vik | 6 |\n| Vik | 6 |\n| Vik | 6 |\n| Moss | 7 |"),
        (row(cells("Port", "Fee")) + row(spanned("Vik", down=2) + spanned("5", down=2)) + row(COVERED * 2)
         + row(cells("Moss", "6")), "| Vik | 5 |\n| Moss | 6 |"),
        (row(cells("Port", "Fee"))
         + row(f"{cells('Vik')}<table:table-cell>{INNER}<text:p>end</text:p></table:table-cell>"),
         "| Vik | I ¦ II / Ia / ¦ IIb end |"),
    ],
    ids=["without covered cells", "with covered cells", "rows without covered cells", "repeated covered rows",
         "a row of covered cells", "a table in a cell"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["text", "spreadsheet"])
def test_merged_cells_keep_the_columns_and_tables_in_cells_their_rows(
    tmp_path: Path, rows: str, held: str, kind: str
) -> None:
    body = f'<table:table table:name="Dues">{rows}</table:table>'
    assert held in text_of(read(tmp_path / "a", open_document(kind, body)))
