"""What a person sees on a page of a PDF file is read or counted: pictures, the part that is shown, false letters."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from querymill_reading.formats.pdf_scans import LEFT_OUT, NO_TEXT
from querymill_reading.rules.unnamed import is_only_signs, reads_as_words
from tests.fixtures import documents
from tests.fixtures.documents import Picture
from tests.fixtures.reading import read, said

TYPED = documents.lines("The ferry calls at Tinn.")


@pytest.mark.parametrize(
    ("boxes", "count"),
    [
        ([(100, 100, 400, 300)], 1),
        ([(100, 100, 250, 300), (300, 100, 400, 300)], 2),
        ([(100, 300 - 8 * at, 400, 308 - 8 * at) for at in range(20)], 1),  # in strips
        ([(100 + 30 * at, 100, 130 + 30 * at, 300) for at in range(9)], 1),  # in tiles beside each other
        ([(100, 100, 400, 300), (102, 101, 400, 300)], 1),  # with its shadow
        ([(0, 0, 612, 792)], 1),  # a scan with a stamp of letters
        ([(60, 700, 250, 740)], 0),  # the ground of the text
        ([(100, 100, 112, 112), (100, 200, 500, 203)], 0),  # ornaments
        ([(700, 100, 900, 300)], 0),  # beyond the page
    ],
)
def test_pictures_beside_text_are_counted(tmp_path: Path, boxes: Sequence[Picture], count: int) -> None:
    found = read(tmp_path / "a.pdf", documents.pdf(TYPED, pictures={1: boxes}))
    assert found.pages[0].text == "The ferry calls at Tinn."
    noun = "picture" if count == 1 else "pictures"
    assert said(found) == ([f"page 1: {count} {noun}: {LEFT_OUT}"] if count else [])


def test_a_picture_within_a_form_is_counted_where_it_stands(tmp_path: Path) -> None:
    whole = documents.pdf(TYPED, pictures={1: [(0, 0, 100, 100)]})
    drawn = whole.partition(b"q 100")[2].partition(b"Q\n")[0]
    form = b"9 0 obj\n<< /Subtype /Form /BBox [0 0 200 200] /Length %d >>\nstream\nq 100%bQ\nendstream\nendobj\n"
    body = whole.replace(b"q 100" + drawn + b"Q\n", b"q 1 0 0 1 200 200 cm /Fm Do Q\n")
    body = body.replace(b"/Resources <<", b"/Resources << /XObject << /Fm 9 0 R >>")
    content = body.replace(b"xref\n", form % (len(drawn) + 8, drawn) + b"xref\n", 1)
    assert said(read(tmp_path / "a.pdf", content)) == [f"page 1: 1 picture: {LEFT_OUT}"]


def test_a_mark_that_many_pages_have_is_counted_once(tmp_path: Path) -> None:
    mark, chart = (500, 740, 560, 780), (100, 100, 400, 300)
    pages = [documents.lines(f"Berth {name}.") for name in "abcd"]
    pictures: Mapping[int, Sequence[Picture]] = {1: [mark], 2: [mark, chart], 3: [mark], 4: [mark]}
    assert said(read(tmp_path / "a.pdf", documents.pdf(*pages, pictures=pictures))) == [
        "1 picture that many pages have: left out", f"page 2: 1 picture: {LEFT_OUT}",
    ]  # fmt: skip


def test_an_empty_page_is_no_scan_and_one_with_a_drawing_may_be(tmp_path: Path) -> None:
    assert said(read(tmp_path / "a.pdf", documents.pdf(TYPED, []))) == ["page 2: no text: nothing is drawn on it"]
    drawn = documents.pdf(TYPED, [], pictures={2: [(0, 0, 9, 9)]})
    assert said(read(tmp_path / "b.pdf", drawn)) == [f"page 2: {NO_TEXT}"]


@pytest.mark.parametrize("place", [b"/Type /Page /Parent", b"/Type /Pages"], ids=["page", "inherited"])
def test_letters_that_a_page_does_not_show_are_counted(tmp_path: Path, place: bytes) -> None:
    page = [*TYPED, (20, 20, 10, "p345.indd 345"), (40, 400, 10, "x"), (10, 30, 9, "trim-"), (10, 20, 9, "med")]
    whole = documents.pdf(page).replace(place, b"/CropBox [50 50 560 740] " + place)
    found = read(tmp_path / "a.pdf", whole)
    assert found.pages[0].text == "The ferry calls at Tinn."
    assert said(found) == ["page 1: 21 letters that the page does not show: left out"]


FALSE = 'K?</676/<# L5?><56# M/,56*# !"# $!"# %#" &\'()*+'


def test_letters_whose_names_give_only_signs_are_counted(tmp_path: Path) -> None:
    whole = documents.pdf([*TYPED, (72, 400, 10, FALSE)])
    own = whole.replace(b"BT /F1 10 Tf 72 400", b"BT /F2 10 Tf 72 400").replace(
        b"<< /F1 3 0 R >>", b"<< /F1 3 0 R /F2 << /Type /Font /Subtype /Type1 /BaseFont /Courier >> >>"
    )
    count = sum(not letter.isspace() for letter in FALSE)
    assert said(read(tmp_path / "a.pdf", own)) == [
        f"page 1: {count} letters of a font that names no characters: perhaps read as others"
    ]


@pytest.mark.parametrize(
    ("text", "judged"),
    [
        (FALSE, True),
        ("+:=>8.7-(#3%4&56# /9=:>8.<2?#3$4)56# 7<>;.?:2/>9<F", True),
        ("for (i = 0; i < 9; i++) { if (!primes[i]) continue; }", False),
        ("1,452 (3.1%) $70 [2] #4 & 5 / 6 * 7 + 8 = 9: 10; 11", False),
        ("________ ........ ======== --------", False),
        ("if (x[0]) {y = 'z';}", False),
    ],
)
def test_which_texts_are_only_signs(text: str, judged: bool) -> None:
    assert is_only_signs(text) is judged


@pytest.mark.parametrize(
    ("text", "judged"),
    [
        ("Load of experts on Wikipedia, Github and Mathematics in each Layer 1 2 3 4 5 6 7 8", True),
        ("Der Hafen von Moss wird im Mai bis in die Tiefe von neun Metern ausgebaggert", True),
        ("Le bac de Tinn part toutes les heures dans la saison", True),
        ("7KH IHUU\\ FDOOV DW 7LQQ DQG DW 0RVV HYHU\\ KRXU", False),
        ("Wkh ihuub fdoov dw Wlqq dqg dw Prvv hyhub krxu", False),
        ("1 2 3 4 5 6 7 8 9 10 11 12 13", False),
        ("묾푷 비체 칺몮 대픟 컪비스 훟심", False),
    ],
)
def test_which_letters_without_names_were_read_right(text: str, judged: bool) -> None:
    assert reads_as_words(text) is judged
