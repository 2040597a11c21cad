"""Scanned pages are read by the user's Tesseract: a program on the PATH, which may fail, hang or say too much."""

import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from querymill_reading.document import Document, ReadLimits
from querymill_reading.formats.pdf_scans import NO_TEXT, NOTHING_FOUND
from querymill_reading.ocr import MAX_LANGUAGES, MAX_TEXT_BYTES, Ocr, OcrMissing, languages_in
from querymill_reading.read_request import ReadRequest
from querymill_reading.recognising import recognise
from querymill_reading.rules.page_spans import spans
from tests.fixtures import documents
from tests.fixtures.reading import LIMITS, said

LISTED = 'List of available languages in "/usr/share" (4):\neng\nosd\ndeu\nchi_sim\njpn_vert\nscript/Latin\n'
#: A program with the command line of Tesseract: it sees how high the picture is, and knows what stands on such a page.
PROGRAM = """#!{python} -IS
import os, sys, time
if sys.argv[1:] == ["--list-langs"]:
    print({listed!r})
    sys.exit()
assert sys.argv[1:] == ["stdin", "stdout", "-l", "chi_sim+deu+eng", "--psm", "1"], sys.argv
assert os.environ["OMP_THREAD_LIMIT"] == "1" and "SECRET" not in os.environ
picture = sys.stdin.buffer.read()
assert picture.startswith(b"\\x89PNG")
height = int.from_bytes(picture[20:24], "big")
{does}
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Write the program, and put it on the PATH alone. ``does`` is what it does with a picture."""

    def write(does: str = "print('The quay opens in May.\\n\\fpage', height)", listed: str = LISTED) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        path = folder / "tesseract"
        path.write_text(PROGRAM.format(python=sys.executable, listed=listed, does=does))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setenv("SECRET", "of the user")
        return path

    return write


def scans(*heights: int) -> bytes:
    """Write a PDF whose pages have no text, but for the second: each of a height of its own, in points."""
    pages = [documents.lines("Typed.") if at == 1 else [] for at in range(len(heights))]
    scanned = {at: [(0, 0, 612, 500)] for at in range(1, len(heights) + 1) if at != 2}
    whole = documents.pdf(*pages, pictures=scanned)
    for height in heights:
        whole = whole.replace(b"[0 0 612 792]", b"[0 0 612 %3d]" % height, 1)
    return whole


def read(path: Path, ocr: Ocr | None, limits: ReadLimits = LIMITS) -> Document:
    path.write_bytes(scans(780, 740, 600))
    return recognise(path, path.name, limits).read(ReadRequest(path, path.name, limits, ocr=ocr))


def test_pages_without_text_are_read_if_that_is_wanted(tmp_path: Path, program: Callable[..., Path]) -> None:
    program()
    found = read(tmp_path / "a.pdf", Ocr.found())
    assert [page.text for page in found.pages] == [
        "The quay opens in May.\n\npage 3251", "Typed.", "The quay opens in May.\n\npage 2500",
    ]  # fmt: skip
    (remark,) = found.remarks
    assert (remark.place, remark.count) == ("pages 1, 3", 2)
    assert str(remark).endswith("2 scanned pages: read by OCR (Tesseract, chi_sim+deu+eng), which may misread")


def test_pictures_beside_text_are_read_too(tmp_path: Path, program: Callable[..., Path]) -> None:
    program("print('' if height < 300 else f'Berth {height}')")
    path = tmp_path / "a.pdf"
    boxes = [(100, 100, 300, 340), (320, 100, 500, 160), (100, 400, 200, 520)]
    whole = documents.pdf(documents.lines("Typed."), [], pictures={1: boxes})
    path.write_bytes(whole.replace(b"/MediaBox", b"/Rotate 90 /MediaBox"))
    found = recognise(path, path.name, LIMITS).read(ReadRequest(path, path.name, LIMITS, ocr=Ocr.found()))
    assert found.pages[0].text == "Typed.\n\nBerth 417\n\nBerth 834\n\nBerth 751"
    assert said(found) == [
        "page 2: no text: nothing is drawn on it",
        "page 1: 3 pictures: read by OCR (Tesseract, chi_sim+deu+eng), which may misread",
    ]


def test_without_it_each_page_is_named(tmp_path: Path) -> None:
    found = read(tmp_path / "a.pdf", None)
    assert said(found) == [f"page 1: {NO_TEXT}", f"page 3: {NO_TEXT}"]


@pytest.mark.parametrize(
    ("does", "remark"),
    [
        ("print()", NOTHING_FOUND),
        ("print('no such file', file=sys.stderr); sys.exit(3)", "OCR: {} ended with code 3: no such file"),
        ("os.kill(os.getpid(), 9)", "OCR: {} ended with code -9: "),
        ("time.sleep(60)", "OCR: took longer than 0 s"),
        (f"sys.stdout.write('a' * {MAX_TEXT_BYTES + 1}); sys.stdout.flush()", "OCR: {} ended with code"),
    ],
    ids=["nothing", "failure", "signal", "hangs", "too much"],
)
def test_a_page_that_fails_costs_itself(tmp_path: Path, program: Callable[..., Path], does: str, remark: str) -> None:
    path = program(f"if height > 3000:\n    {does}\nelse:\n    print('read')")
    patient = 0.3 if "sleep" in does else 20.0
    found = read(tmp_path / "a.pdf", Ocr.found(), ReadLimits(ocr_seconds_a_page=patient))
    assert found.pages[1].text == "Typed."
    assert said(found)[0].startswith(f"page 1: {remark.format(path)}")
    if patient > 1:
        assert found.pages[2].text == "read"


def test_pages_for_which_no_time_is_left_are_named(tmp_path: Path, program: Callable[..., Path]) -> None:
    program()
    found = read(tmp_path / "a.pdf", Ocr.found(), ReadLimits(ocr_seconds=0.5))
    assert said(found) == [f"page {number}: no text: OCR of the pages before took 0 s" for number in (1, 3)]


def test_a_program_that_is_gone_is_a_remark(tmp_path: Path, program: Callable[..., Path]) -> None:
    path = program()
    ocr = Ocr.found()
    path.unlink()
    assert said(read(tmp_path / "a.pdf", ocr))[0].startswith(f"page 1: OCR: {path} cannot be run: ")


@pytest.mark.parametrize(
    ("listed", "why"),
    [
        ("", "has 0 languages"),
        ("osd\nequ\n", "has 0 languages"),
        (
            "\n".join(f"la{letter}" for letter in "abcdefghijklm"),
            f"13 languages, and a page is read in 1 to {MAX_LANGUAGES}",
        ),
    ],
)
def test_languages_that_cannot_be_used(program: Callable[..., Path], listed: str, why: str) -> None:
    program(listed=listed)
    with pytest.raises(OcrMissing, match=why):
        Ocr.found()


def test_a_machine_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OcrMissing, match="tesseract is not on the PATH"):
        Ocr.found()
    (tmp_path / "tesseract").write_text("#!/bin/sh\nexit 4\n")
    (tmp_path / "tesseract").chmod(0o700)
    with pytest.raises(OcrMissing, match=r"--list-langs: .* returned non-zero exit status 4"):
        Ocr.found()


def test_without_its_model_of_directions_a_page_is_read_as_it_stands(program: Callable[..., Path]) -> None:
    program(listed="deu\neng\n")
    assert Ocr.found().turns_pages is False


def test_languages_are_listed_with_english_last() -> None:
    assert languages_in(LISTED) == ("chi_sim", "deu", "eng")


def test_numbers_of_many_pages_are_cut() -> None:
    assert spans([1, 2, 3, 7, 9, 10]) == "1-3, 7, 9-10"
    assert spans(range(1, 1000, 2)).endswith("and more")
