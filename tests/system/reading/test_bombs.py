"""A bomb of each format that can be read costs its own file: in time, in memory and in text."""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from querymill_reading import archives
from querymill_reading.document import ReadLimits, Unreadable
from querymill_reading.formats import FORMATS
from querymill_reading.process import START_S, FileReader
from tests.fixtures import bombs
from tests.fixtures.reading import text_of
from tests.fixtures.short_forms import named_at_night

LIMITS = ReadLimits(
    memory_bytes=768 << 20, unpacked_bytes=16 << 20, seconds=12, seconds_a_page=6, characters=1_000_000
)  # fmt: skip
CASES = {
    f"{known.name}-{at}": (known.suffixes[0], bomb)
    for known in FORMATS
    for at, bomb in enumerate(bombs.DOCUMENTS[known.name])
}
#: Those that are refused within a second.
BY_DAY = ("docx-2", "pptx-0", "ods-1", "epub-0", "xlsx-1", "json-0", "odt-0")


@pytest.fixture(scope="module")
def reader() -> Iterator[FileReader]:
    with FileReader(LIMITS) as opened:
        yield opened


def test_every_format_and_every_archive_has_a_bomb() -> None:
    assert bombs.DOCUMENTS.keys() == {known.name for known in FORMATS}
    endings = {"." + suffix.rpartition(".")[2] for suffix in archives.SUFFIXES}
    assert bombs.ARCHIVES.keys() | bombs.ARCHIVES_ALIKE.keys() == endings


@pytest.mark.parametrize(("suffix", "bomb"), named_at_night(CASES, short=BY_DAY))
def test_a_bomb_costs_itself(reader: FileReader, tmp_path: Path, suffix: str, bomb: bombs.Bomb) -> None:
    path, good = tmp_path / f"bomb{suffix}", tmp_path / "good.txt"
    path.write_bytes(bomb())
    good.write_text("all is well")
    began, text = time.monotonic(), ""
    with suppress(Unreadable):
        text = text_of(reader.read(path))
    assert len(text) <= LIMITS.characters * 1.01  # with what stands between pages
    assert time.monotonic() - began < LIMITS.seconds + START_S
    assert reader.read(good).pages[0].text == "all is well"


@pytest.mark.parametrize("ending", named_at_night({ending: ending for ending in bombs.ARCHIVES}, short=[".zip", ".gz"]))
def test_an_archive_that_unpacks_to_too_much_leaves_nothing(reader: FileReader, tmp_path: Path, ending: str) -> None:
    path, into = tmp_path / f"bomb{ending}", tmp_path / "into"
    path.write_bytes(bombs.ARCHIVES[ending]())
    with pytest.raises(Unreadable, match=r"unpacks to more than|broken archive"):
        reader.unpack(path, into)
    assert not into.exists()
