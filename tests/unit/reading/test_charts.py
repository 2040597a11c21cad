"""Charts: their values as they are shown, and the titles of their axes."""

import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from lxml import etree
from openpyxl.chart import BarChart, Reference

from querymill_reading.formats.charts import texts_of_chart
from tests.fixtures.reading import read, said, text_of
from tests.unit.reading.test_office import changed, with_chart, with_chart_in_text

NAMED = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
RICH = '<c:title><c:tx><c:rich xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:p><a:r><a:t>%s'
RICH += "</a:t></a:r></a:p></c:rich></c:tx></c:title>"
CELL = "<c:title><c:tx><c:strRef><c:strCache><c:pt><c:v>%s</c:v></c:pt></c:strCache></c:strRef></c:tx></c:title>"


def form(code: str, linked: int = 0) -> str:
    return f'<c:numFmt formatCode="{code}" sourceLinked="{linked}"/>'


def labels(inside: str) -> str:
    return f"<c:dLbls>{inside}</c:dLbls>"


VALUE, SHARE, NO_VALUE = '<c:showVal val="1"/>', '<c:showPercent val="1"/>', '<c:showVal val="0"/>'


def chart(figures: str, *, kind: str = "bar", own: str = "", of_plot: str = "", axes: str = "", code: str = "") -> Any:
    """Return the root of a chart with a series of figures."""
    points = "".join(f'<c:pt idx="{at}"><c:v>{each}</c:v></c:pt>' for at, each in enumerate(figures.split()))
    source = f"<c:formatCode>{code}</c:formatCode>" if code else ""
    series = f"<c:ser>{own}<c:val><c:numRef><c:numCache>{source}{points}</c:numCache></c:numRef></c:val></c:ser>"
    plot = f'<c:{kind}Chart>{series}{of_plot}<c:axId val="1"/><c:axId val="2"/></c:{kind}Chart>'
    return etree.fromstring(
        f"<c:chartSpace {NAMED}><c:chart><c:plotArea>{plot}{axes}</c:plotArea></c:chart></c:chartSpace>"
    )


def axis(inside: str, *, kind: str = "val", deleted: str = "0", number: int = 2) -> str:
    return f'<c:{kind}Ax><c:axId val="{number}"/><c:delete val="{deleted}"/>{inside}</c:{kind}Ax>'


PERCENT_STACKED = '<c:grouping val="percentStacked"/>'


@pytest.mark.parametrize(
    ("root", "shown"),
    [
        # Labels have a form of their own: for a series, for a plot, for a point, or that of the values.
        (chart("0.37 0.634", own=labels(form("0%") + VALUE)), "37% 63%"),
        (chart("0.37 0.634", of_plot=labels(form("0%") + VALUE)), "37% 63%"),
        (chart("1250 3", own=labels(form("#,##0.00 &quot;kr&quot;") + VALUE)), "1,250.00 kr 3.00 kr"),
        (chart("0.37 0.6", own=labels(f'<c:dLbl><c:idx val="1"/>{form("0%")}{VALUE}</c:dLbl>' + NO_VALUE)), "0.37 60%"),
        (chart("0.37 0.5", own=labels(form("0.0", 1) + VALUE), code="0%"), "37% 50%"),
        # The labels of a series go before those of its plot; what shows no value has no form for it.
        (chart("0.37", own=labels(form("0.000") + VALUE), of_plot=labels(form("0%") + VALUE)), "0.370"),
        (chart("0.37", own=labels(form("0%") + NO_VALUE)), "0.37"),
        (chart("0.37", own=labels('<c:delete val="1"/>' + form("0%") + VALUE)), "0.37"),
        # Shares of a pie.
        (chart("0.37 0.63", kind="pie", of_plot=labels(form("0%") + SHARE)), "37% 63%"),
        (chart("3 1", kind="doughnut", own=labels(SHARE)), "75% 25%"),
        (chart("3 1", kind="pie", own=labels(VALUE + SHARE + "<c:separator> / </c:separator>")), "3 / 75% 1 / 25%"),
        (chart("0 0", kind="pie", own=labels(SHARE)), "0 0"),
        # Without labels the axis says the form, unless that would round, or has shares, or is not shown.
        (chart("0.37 0.625", axes=axis(form("0%"))), "37% 62.5%"),
        (chart("1250", axes=axis(form("#,##0"))), "1,250"),
        (chart("1250750", axes=axis(form("0,,&quot;M&quot;"))), "1250750"),
        (chart("0.5", code="0.0%"), "50.0%"),
        (chart("5 6", of_plot=PERCENT_STACKED, axes=axis(form("0%"))), "5 6"),
        (chart("0.37", axes=axis(form("0%"), deleted="1")), "0.37"),
        (chart("0.37", axes=axis(form("0%"), number=3)), "0.37"),
        (chart("0.37", axes=axis(form("0%", 1))), "0.37"),
        (chart("0.1 n/a", own=labels(form("0%") + VALUE)), "10% n/a"),
    ],
)
def test_a_value_is_shown_as_its_chart_shows_it(root: Any, shown: str) -> None:
    lines = "\n".join(texts_of_chart(root)).split("\n")
    assert " ".join(line.strip("| ") for line in lines if "---" not in line and line.strip("| ")) == shown


@pytest.mark.parametrize(
    ("axes", "shown"),
    [
        (axis(RICH % "Year", kind="cat") + axis(RICH % "Ships"), ["Axis: Year", "Axis: Ships"]),
        (axis(CELL % "Day", kind="date") + axis(RICH % "Depth", kind="ser"), ["Axis: Day", "Axis: Depth"]),
        (axis(RICH % "Year", kind="cat", deleted="1") + axis("<c:title/>"), []),
    ],
)
def test_titles_of_axes_that_are_shown_are_text(axes: str, shown: list[str]) -> None:
    assert [text for text in texts_of_chart(chart("5", axes=axes)) if "|" not in text] == shown


@pytest.mark.parametrize("ending", ["pptx", "docx"])
def test_a_chart_of_a_slide_and_of_a_text_shows_its_labels(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    (with_chart if ending == "pptx" else with_chart_in_text)(path)
    own = labels(form("0%") + VALUE).encode()
    old = b"<c:cat>"

    def change(name: str, content: bytes) -> tuple[str, bytes]:
        return name, content.replace(old, own + old) if "charts/chart" in name else content

    changed(path, change)
    assert "|  | Ferries |\n| --- | --- |\n| Tinn | 300% |\n| Moss | 450% |" in text_of(read(path))


@pytest.mark.parametrize("has_titles", [True, False])
def test_a_chart_upon_a_sheet_gives_its_titles(tmp_path: Path, has_titles: bool) -> None:
    book = openpyxl.Workbook()
    book.active.append(["Port", 5])
    drawn = BarChart()
    drawn.add_data(Reference(book.active, min_col=2, min_row=1, max_row=1))
    if has_titles:
        drawn.x_axis.title, drawn.y_axis.title = "Year", "Ships"
    book.active.add_chart(drawn)
    book.save(tmp_path / "a.xlsx")
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        assert b'delete val="1"' not in archive.read("xl/charts/chart1.xml")
    found = read(tmp_path / "a.xlsx")
    assert ("Axis: Year\n\nAxis: Ships" in text_of(found)) is has_titles
    assert said(found) == [f"sheet Sheet: 1 chart: left out{', but for its title' if has_titles else ''}"]
