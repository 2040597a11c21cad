"""Every word of a page of a PDF file stands in its text once, in the column and the line where a person sees it."""

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_reading.rules.wrapping import joined, words_in
from tests.fixtures import documents
from tests.fixtures.documents import Placed
from tests.fixtures.reading import read, said, text_of

WORDS = ["Amount", "Berth", "Cargo", "Depth", "Ebb", "Ferry", "Harbour", "Inlet", "Keel", "Lock"]


def _table(rows: list[list[str]], xs: list[float], top: float = 700) -> list[Placed]:
    return [
        (x, top - 16 * at, 10, text) for at, row in enumerate(rows) for x, text in zip(xs, row, strict=True) if text
    ]


def test_a_name_over_which_a_total_reaches_stands_in_its_own_column_alone(tmp_path: Path) -> None:
    rows = [["Item", "Quantity", "Unit Price", "Tax", "Amount"], ["Tar", "1.00", "250.00", "9.25%", "250.00"]]
    page = [*_table(rows, [40, 250, 330, 405, 470]), (330, 668, 10, "TOTAL SALES TAX 9.25%"), (470, 668, 10, "23.13")]
    text = text_of(read(tmp_path / "a.pdf", documents.pdf(page)))
    assert text.splitlines()[0] == "| Item | Quantity | Unit Price | Tax | Amount |"
    assert "| Tar | 1.00 | 250.00 | 9.25% | 250.00 |" in text


def test_names_of_columns_without_values_are_columns(tmp_path: Path) -> None:
    rows = [["LINE", "UI", "QUANTITY", "UNIT PRICE", "TOTAL PRICE"], ["0001", "EA", "1.000", "", ""]]
    text = text_of(read(tmp_path / "a.pdf", documents.pdf(_table(rows, [22, 150, 230, 330, 420]))))
    assert text.splitlines()[0] == "| LINE | UI | QUANTITY | UNIT PRICE | TOTAL PRICE |"


@pytest.mark.parametrize("sizes", [(6.4, 7.4, 8.3), (8, 9.5, 10.4), (9, 9, 11.7)])
def test_values_in_larger_letters_stand_in_their_rows(tmp_path: Path, sizes: tuple[float, float, float]) -> None:
    page: list[Placed] = []
    values = [216, 177, 9, 0, 20, 0, 311, 0]
    for at, value in enumerate(values):
        y = 650 - 15 * at
        for x, size, text in zip((40, 270, 545), sizes, (WORDS[at], f"{at} Quay Road", str(value)), strict=True):
            page.append((x, y - 1.2 * size, size, text))
    text = text_of(read(tmp_path / "a.pdf", documents.pdf(page)))
    for at, value in enumerate(values):
        assert re.search(rf"\| {WORDS[at]} \| {at} Quay Road \| {value} \|", text), text


cells = st.one_of(st.sampled_from(WORDS), st.integers(0, 999).map(str), st.just("0"), st.just(""))
tables = st.integers(2, 5).flatmap(lambda width: st.lists(st.lists(cells, min_size=width, max_size=width), max_size=8))


@given(rows=tables, sizes=st.lists(st.sampled_from([8.0, 10.0, 11.0]), min_size=5, max_size=5))
def test_no_word_of_a_drawn_table_is_dropped_and_no_number_doubled(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], sizes: list[float]
) -> None:
    page: list[Placed] = [
        (60 + 100 * column, 700 - 16 * at, sizes[column], text)
        for at, row in enumerate(rows)
        for column, text in enumerate(row)
        if text
    ]
    path = tmp_path_factory.getbasetemp() / "table.pdf"
    text = text_of(read(path, documents.pdf(page))) if page else ""
    drawn, found = Counter(text for _, _, _, text in page), Counter(re.findall(r"\w+", text))
    assert not drawn - found
    assert not [word for word in found - drawn if word not in WORDS], text  # a name may be that of two columns


def test_equal_texts_of_one_row_all_stay(tmp_path: Path) -> None:
    page = [(x, 700, 10, "[ ]") for x in (40, 56, 74, 90)] + [(300, 700, 10, "A"), (300, 684, 10, "B")]
    page += [(x, 684, 10, "[ ]") for x in (40, 56, 72, 88)]
    assert text_of(read(tmp_path / "a.pdf", documents.pdf(page))).count("[ ]") == 8


@pytest.mark.parametrize("rise", [4.0, 5.5, -2.5])
def test_a_raised_or_lowered_word_stays_in_its_line(tmp_path: Path, rise: float) -> None:
    page = [(72, 700, 11, "bold underline"), (144, 700 + rise, 7, "set"), (72, 660, 11, "The next line.")]
    assert text_of(read(tmp_path / "a.pdf", documents.pdf(page))).splitlines()[0].startswith("bold underline set")


SAID = [
    "a set-aside for us",
    "the Fixed price of finan-",
    "cial goods, financial",
    "total small busi-",
    "ness of Mund",
    "Haut",
]


@pytest.mark.parametrize(
    ("above", "below", "whole"),
    [
        ("a total set-", "aside of", "a total set-aside of"),
        ("firm fixed-", "price", "firm fixed-price"),
        ("finan-", "cial", "financial"),
        ("busi-", "ness", "business"),
        ("govern-", "ment", "government"),
        ("Mund-", "haut", "Mundhaut"),
        ("year-over-", "year", "year-over-year"),
    ],
)
def test_a_hyphen_of_a_compound_of_the_document_stays(above: str, below: str, whole: str) -> None:
    assert joined(above, below, words_in([*SAID, "the price fell"])) == whole


def test_a_compound_cut_at_the_end_of_a_line_keeps_its_hyphen(tmp_path: Path) -> None:
    page = documents.lines(
        "The contract is a total small business set-", "aside. Another is no set-aside at all and is open."
    )
    assert "business set-aside. Another" in text_of(read(tmp_path / "a.pdf", documents.pdf(page)))


@pytest.mark.parametrize(
    "drawn", ["", "10 10 m 300 10 l S", "50 50 200 100 re S 50 90 m 99 140 200 7 9 9 c f", "BT /F1 9 Tf ( ) Tj ET"]
)
def test_a_page_of_lines_is_no_scan(tmp_path: Path, drawn: str) -> None:
    written = documents.pdf([(72, 700, 10, "x")], documents.lines("The ferry calls."))
    blank = b"%% a blank page\n" if not drawn else drawn.encode()
    whole = written.replace(b"BT /F1 10 Tf 72 700 Td (x) Tj ET", blank)
    (remark,) = said(read(tmp_path / "a.pdf", whole))
    assert remark.startswith("page 1: no text: nothing is ")


def test_letters_drawn_as_shapes_may_be_a_scan(tmp_path: Path) -> None:
    shapes = b"".join(b"%d 700 m %d 705 %d 710 %d 700 c f\n" % (x, x, x + 5, x + 5) for x in range(50, 150, 8))
    whole = documents.pdf([(72, 700, 10, "x")], documents.lines("Two ships.")).replace(
        b"BT /F1 10 Tf 72 700 Td (x) Tj ET", shapes
    )
    assert "a scanned picture?" in said(read(tmp_path / "a.pdf", whole))[0]
