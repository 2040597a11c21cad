"""Rows of tables in a text, with the heads of their columns."""

from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.text.tables import TableRow, read_tables


def rows(text: str) -> list[TableRow]:
    return [piece for piece in read_tables(text) if isinstance(piece, TableRow)]


def test_the_worked_example() -> None:
    assert read_tables("Before.\n| USD m | 2022 | 2021 |\n|---|---|---|\n| **Revenue** | 287.5 | 318.2 |\nAfter.") == [
        "Before.",
        TableRow("Revenue", (("2022", "287.5"), ("2021", "318.2")), caption="USD m", unit="USD m"),
        "After.",
    ]


def test_a_head_spans_the_empty_cells_after_it() -> None:
    text = (
        " | Domestic |  | International | \n | 2019 | 2018 | 2019 | 2018\n"
        "Discount rate | 4.00% | 3.75% | 1.90% | 2.80%\nExpected return |  |  | 3.40% | 3.70%"
    )
    assert [row.cells for row in rows(text)] == [
        (
            ("Domestic 2019", "4.00%"), ("Domestic 2018", "3.75%"),
            ("International 2019", "1.90%"), ("International 2018", "2.80%"),
        ),
        (("International 2019", "3.40%"), ("International 2018", "3.70%")),
    ]  # fmt: skip


def test_a_line_without_values_is_the_section_of_the_rows_below_it() -> None:
    text = " |  | (in millions) | \n | 2019 | 2018\nSolutions: |  | \nSensors | 914 | 918"
    assert rows(text) == [
        TableRow("Sensors", (("2019", "914"), ("2018", "918")), section="Solutions", unit="(in millions)")
    ]


def test_cells_of_a_layout_stand_apart() -> None:
    text = (
        "  (Dollars in millions)  At December 31, 2019  At December 31, 2018\n"
        "  Current assets:\n  Cash and cash equivalents  $  5,794  $  4,225\n  Other losses  (619)  —"
    )
    heads = ("At December 31, 2019", "At December 31, 2018")
    assert rows(text) == [
        TableRow("Cash and cash equivalents", ((heads[0], "$5,794"), (heads[1], "$4,225")), "Current assets",
                 unit="Dollars in millions"),
        TableRow("Other losses", ((heads[0], "(619)"), (heads[1], "—")), "Current assets", unit="Dollars in millions"),
    ]  # fmt: skip


def test_a_row_with_more_values_than_heads_has_no_heads() -> None:
    assert rows("  2019  2018\n  Revenue  10  20  30\n")[0].cells == (("", "10"), ("", "20"), ("", "30"))


def test_prose_stays_as_it_is() -> None:
    text = "A sentence with | a bar.\n\nIn 2022 revenue  rose to 40 million because of the north.\nThe end."
    assert read_tables(text) == text.splitlines()


@given(st.text(alphabet="|-: \n\tab0129,.$()%年", max_size=300))
def test_any_text_is_read(text: str) -> None:
    for piece in read_tables(text):
        assert isinstance(piece, str) or piece.cells
