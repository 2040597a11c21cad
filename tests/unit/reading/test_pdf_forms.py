"""What was typed and ticked in a PDF form stands beside its label."""

from pathlib import Path

from querymill_reading.document import ReadLimits
from querymill_reading.read_request import ReadRequest
from querymill_reading.recognising import recognise
from tests.fixtures.documents import form_pdf


def test_values_of_a_form_stand_beside_their_labels(tmp_path: Path) -> None:
    path = tmp_path / "form.pdf"
    path.write_bytes(form_pdf())
    (page,) = recognise(path, path.name, ReadLimits()).read(ReadRequest(path, path.name)).pages
    words = " ".join(page.text.replace("|", " ").split())
    for pair in ("Name: Ann Pumpwell", "Pump: P-9", "Notes: seal is worn", "Urgent [x]", "Paid [ ]"):
        assert pair in words, page.text
    assert "order two" in words
    assert "sesame" not in words
