"""What was typed and ticked in a PDF form stands beside its label."""

from pathlib import Path

from querymill_reading.document import ReadLimits
from querymill_reading.read_request import ReadRequest
from querymill_reading.recognising import recognise
from tests.fixtures.documents import form_pdf
from tests.fixtures.reading import read, text_of


def test_values_of_a_form_stand_beside_their_labels(tmp_path: Path) -> None:
    path = tmp_path / "form.pdf"
    path.write_bytes(form_pdf())
    (page,) = recognise(path, path.name, ReadLimits()).read(ReadRequest(path, path.name)).pages
    words = " ".join(page.text.replace("|", " ").split())
    for pair in ("Name: Ann Pumpwell", "Pump: P-9", "Notes: seal is worn", "Urgent [x]", "Paid [ ]"):
        assert pair in words, page.text
    assert "order two" in words
    assert "sesame" not in words


def _with_field(place: bytes, field: bytes) -> bytes:
    """Return the form with another field in place of one of it."""
    whole = form_pdf()
    start = whole.index(place)
    start, end = whole.rindex(b" obj\n", 0, start) + 5, whole.index(b"endobj", start)
    return whole[:start] + b"<< /Type /Annot /Subtype /Widget /P 4 0 R /F 4 " + field + b" >>\n" + whole[end:]


def test_a_choice_is_read_as_it_is_displayed(tmp_path: Path) -> None:
    field = b"/FT /Ch /Ff 131072 /T (p) /Opt [[(7) (Bilge)] [(9) (Ballast)]] /V (9) /Rect [120 664 300 682]"
    assert "Ballast" in text_of(read(tmp_path / "a.pdf", _with_field(b"/T (pump)", field)))


def test_every_choice_of_a_list_is_read_with_those_that_are_made(tmp_path: Path) -> None:
    field = b"/FT /Ch /T (n) /Opt [(Bow) (Keel) (Stern)] /V (Keel) /Rect [120 600 300 652]"
    text = text_of(read(tmp_path / "a.pdf", _with_field(b"/T (notes)", field)))
    assert all(line in text for line in ("[ ] Bow", "[x] Keel", "[ ] Stern"))


def test_the_caption_of_a_button_is_read(tmp_path: Path) -> None:
    whole = _with_field(b"/T (code)", b"/FT /Btn /Ff 65536 /T (b) /Rect [120 517 200 529] /AP << /N 20 0 R >>")
    drawn = b"BT /F1 9 Tf (Send \\(all) Tj 9 0 Td (\\51) Tj ET"
    form = b"20 0 obj\n<< /Subtype /Form /BBox [0 0 80 12] /Length %d >>\nstream\n%b\nendstream\nendobj\n"
    content = whole.replace(b"xref\n", form % (len(drawn), drawn) + b"xref\n", 1)
    assert "Send (all)" in text_of(read(tmp_path / "a.pdf", content))
