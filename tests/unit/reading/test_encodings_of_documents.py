"""Texts that are not in Unicode are read in the encoding that their letters tell, by the rule of source files."""

from pathlib import Path

import pytest

from querymill_reading.document import Unreadable
from querymill_reading.formats import text
from tests.fixtures.reading import read, said, text_of

TOLD = [
    ("Stadt;Ort\nKöln;1\nMünchen;2\n", "latin-1", "CP1252"),
    ("Stadt;Ort\nKöln;1\n", "cp1252", "CP1252"),
    ("Name;Preis\nCafé Olé;14 €\n", "cp1252", "CP1252"),
    ("Miasto;Kod\nŁódź;1\nGdańsk;2\nPoznań;3\n", "cp1250", "CP1250"),
    ("Город;Код\nМосква;1\nКазань;2\n", "cp1251", "CP1251"),
    ("Πόλη;Κωδικός\nΑθήνα;1\nΠάτρα;2\n", "cp1253", "CP1253"),
    ("都市;番号\nよこはま;1\nとうきょう;2\n", "shift_jis", "CP932"),
    ("城市;编号\n上海;1\n北京;2\n广州;3\n深圳;4\n", "gbk", "GB18030"),
    ("도시;번호\n서울;1\n부산;2\n인천;3\n", "cp949", "CP949"),
]


@pytest.mark.parametrize(
    ("written", "encoding", "name"), TOLD, ids=[f"{encoding} {at}" for at, (_, encoding, _) in enumerate(TOLD)]
)
@pytest.mark.parametrize("ending", ["csv", "txt", "md"])
def test_the_letters_tell_the_encoding(tmp_path: Path, written: str, encoding: str, name: str, ending: str) -> None:
    found = read(tmp_path / f"a.{ending}", written.encode(encoding))
    cells = [cell for line in written.split("\n") for cell in line.split(";") if cell]
    assert [cell in text_of(found) for cell in cells] == [True] * len(cells)
    assert said(found) == [f"not UTF-8: read as {name}, which its letters tell"]


def test_a_letter_far_down_tells_it_too_and_the_whole_text_is_read(tmp_path: Path) -> None:
    long = b"Ort;Zahl\n" + b"Bonn;1\n" * (text.GUESSED_FROM // 5) + "Köln;2\n".encode("latin-1")
    found = read(tmp_path / "a.csv", long)
    assert "| Köln | 2 |" in text_of(found)


def test_utf8_with_a_damaged_letter_stays_utf8(tmp_path: Path) -> None:
    found = read(tmp_path / "a.csv", "Stadt;Fluß\nKöln;Rhein\nMünchen;Isar\nZürich;".encode() + b"\xff\n")
    assert "Köln" in text_of(found)
    assert said(found) == ["1 letter: damaged, shown as \ufffd"]
    assert found.remarks[0].count == 1


def test_seven_bits_of_japanese(tmp_path: Path) -> None:
    found = read(tmp_path / "a.txt", "横浜港で働いている。".encode("iso2022_jp"))
    assert text_of(found) == "横浜港で働いている。"
    assert said(found) == ["read as ISO2022_JP"]


def test_what_nothing_tells_is_never_another_script(tmp_path: Path) -> None:
    found = read(tmp_path / "a.txt", b"A long enough line of plain letters with one odd \x81 in it.")
    assert "\ufffd" in text_of(found)
    assert said(found)[0] == "not UTF-8, and in which encoding is undecided: save it as UTF-8"
    with pytest.raises(Unreadable, match="undecided: save it as UTF-8"):
        read(tmp_path / "b.txt", "Město;Kód\nPlzeň;1\nČeské Budějovice;2\n".encode("cp1250"))


def test_html_that_names_no_encoding_is_read_as_browsers_read_it(tmp_path: Path) -> None:
    found = read(tmp_path / "a.html", "<p>Město a kód: Plzeň, České Budějovice</p>".encode("cp1250"))
    assert "Budìjovice" in text_of(found)
    assert said(found) == ["not UTF-8, and in which encoding is undecided: read as CP1252"]
