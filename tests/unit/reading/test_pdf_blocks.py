"""Texts side by side on a page of a PDF file are read one after the other; signs of symbol fonts are no letters."""

from pathlib import Path

import pytest

from querymill_reading.rules.symbols import UNKNOWN, sign_in
from tests.fixtures import documents
from tests.fixtures.documents import Placed
from tests.fixtures.reading import read, said, text_of


def _below(x: float, top: float, step: float, *texts: str) -> list[Placed]:
    return [(x, top - step * at, 9, text) for at, text in enumerate(texts)]


def test_an_address_beside_fields_is_read_whole(tmp_path: Path) -> None:
    fields = ["Invoice Date", "Jun 3, 2013", "Invoice Number", "INV-0046", "Tax ID", "None yet"]
    dates = [(361, y, 9, text) for y, text in zip((667, 656, 639, 628, 610, 599), fields, strict=True)]
    address = _below(472, 666, 13, "Orange Demo Inc.", "23 Main Street", "Central City", "Marineville", "USA")
    text = " ".join(text_of(read(tmp_path / "a.pdf", documents.pdf([*dates, *address]))).split())
    assert "Invoice Date Jun 3, 2013 Invoice Number INV-0046 Tax ID None yet Orange Demo Inc. 23 Main Street" in text
    assert "|" not in text


def test_a_label_of_two_lines_is_not_broken_by_boxes_beside_it(tmp_path: Path) -> None:
    page = [(48, 57, 10, "form.fields.list"), (60, 45, 10, "_and_values"), (218, 51, 10, "form.load")]
    text = text_of(read(tmp_path / "a.pdf", documents.pdf([*page, (400, 51, 10, "form.open")])))
    assert text.split() == ["form.fields.list", "_and_values", "form.load", "form.open"]


def test_labels_around_a_pie_are_no_table(tmp_path: Path) -> None:
    slices = [(70, 400, "California", "10%"), (500, 290, "Florida", "13%"), (560, 530, "Other", "41%")]
    slices += [(130, 660, "Illinois", "3%"), (186, 655, "New York", "3%"), (108, 600, "Arizona", "4%")]
    page = [(x, y - 14 * at, 12, text) for x, y, *texts in slices for at, text in enumerate(texts)]
    text = text_of(read(tmp_path / "a.pdf", documents.pdf(page)))
    assert "|" not in text
    for _, _, name, share in slices:
        assert f"{name} {share}" in " ".join(text.split())


def test_columns_of_a_table_that_are_drawn_one_after_the_other_stay_a_table(tmp_path: Path) -> None:
    names = _below(72, 700, 14, "Port", "Moss", "Tinn", "Bergen", "Narvik")
    page = names + _below(200, 700, 14, "State", "open", "closed", "open", "open") + _below(300, 700, 14, *"abcde")
    assert "| Tinn | closed | c |" in text_of(read(tmp_path / "a.pdf", documents.pdf(page)))


def test_values_at_the_ends_of_bars_are_one_column(tmp_path: Path) -> None:
    page: list[Placed] = [(120, 720, 12, "Berths authorized in the ports of the north in 2005")]
    for at, value in enumerate((72861, 61008, 45562, 33176, 20303, 9017)):
        page += [(40, 700 - 20 * at, 9, f"Port {'ABCDEF'[at]}"), (100 + value / 200, 700 - 20 * at, 9, str(value))]
    text = text_of(read(tmp_path / "a.pdf", documents.pdf(page)))
    assert "| Port A | 72861 |" in text
    assert "| Port F | 9017 |" in text
    assert text.count("Berths authorized") == 1


def test_a_blank_between_sentences_makes_no_table(tmp_path: Path) -> None:
    page = documents.lines("Growing numbers of ships call at the ports, which are capable of taking all of them.")
    page += [(72, 708, 10, "and federal harbour contracts."), (250, 708, 10, "The pilots provide critical assistance")]
    page += [(72, 696, 10, "to new and existing masters, by the"), (262, 696, 10, "page of the pilots of the north.")]
    text = text_of(read(tmp_path / "a.pdf", documents.pdf(page)))
    assert "|" not in text
    assert "contracts. The pilots" in text


def _with_symbols(font: str, codes: bytes) -> bytes:
    whole = documents.pdf([(72, 700, 10, "Small business"), (52, 700, 10, "@")])
    named = f"<< /F1 3 0 R /F2 << /Type /Font /Subtype /TrueType /BaseFont /{font} /Encoding /WinAnsiEncoding >> >>"
    own = whole.replace(b"<< /F1 3 0 R >>", named.encode())
    return own.replace(b"BT /F1 10 Tf 52 700 Td (@)", b"BT /F2 10 Tf 52 700 Td (" + codes + b")")


@pytest.mark.parametrize(
    ("font", "codes", "sign"),
    [
        ("Wingdings", b"x", "☒"),
        ("Wingdings", b"\xa8", "☐"),
        ("ABCDEF+Wingdings-Regular", b"o", "□"),
        ("Wingdings2", b"R", "☑"),
        ("Webdings", b"a", "✓"),
    ],
)
def test_letters_of_symbol_fonts_are_signs(tmp_path: Path, font: str, codes: bytes, sign: str) -> None:
    found = read(tmp_path / "a.pdf", _with_symbols(font, codes))
    assert text_of(found).split() == [sign, "Small", "business"]
    assert not said(found)


@pytest.mark.parametrize("font", ["Wingdings2", "FormDingbatsTwo"])
@pytest.mark.parametrize(
    ("codes", "told"), [(b"1", "1 sign of an unknown character"), (b"11", "2 signs of an unknown character")]
)
def test_signs_that_nobody_knows_are_counted(tmp_path: Path, font: str, codes: bytes, told: str) -> None:
    found = read(tmp_path / "a.pdf", _with_symbols(font, codes))
    assert text_of(found) == "Small business"
    assert said(found) == [f"page 1: {told}: left out"]


@pytest.mark.parametrize(
    ("code", "family", "sign"),
    [
        (0xF0A7, "wingdings", "▪"), (0xF0B7, "symbol", "•"), (0x3B1, "symbol", "α"), (0x2713, "zapfdingbats", "✓"),
        (0x34, "zapfdingbats", "✔"), (0xF0A7, "", UNKNOWN), (0xD800, "", UNKNOWN), (0x41, "", "A"),
        (0x201E, "wingdings", "④"), (0x2022, "wingdings", "•"),
    ],
)  # fmt: skip
def test_what_a_code_of_a_font_shows(code: int, family: str, sign: str) -> None:
    assert sign_in(code, family) == sign
