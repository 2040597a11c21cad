"""Reading in a process with limits: what a hostile file costs is that file."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from querymill_reading.document import ReadLimits, Unreadable
from querymill_reading.process import FileReader
from tests.fixtures import documents
from tests.fixtures.short_forms import named_at_night


@pytest.fixture(scope="module")
def reader() -> Iterator[FileReader]:
    with FileReader() as opened:
        yield opened


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_pages_are_told_as_they_are_read(reader: FileReader, tmp_path: Path) -> None:
    pages: list[int] = []
    path = written(tmp_path / "a.pdf", documents.pdf(documents.lines("one"), documents.lines("two")))
    document = reader.read(path, name="tides.pdf", on_page=pages.append)
    assert [page.text for page in document.pages] == ["one", "two"]
    assert document.proposed == {"title": "tides"}
    assert pages == [1, 2]


def test_a_process_that_was_started_early_reads_and_ends_unused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.pdf", documents.pdf(documents.lines("one")))
    with FileReader() as early:
        early.start()
        assert [page.text for page in early.read(path).pages] == ["one"]
    with FileReader() as unused:
        unused.start()


def test_hostile_files_are_named_and_the_next_file_is_read(reader: FileReader, tmp_path: Path) -> None:
    hostile = {
        "circle.pdf": documents.circular_pdf(),
        "long.pdf": documents.long_pdf(10_000),
        "locked.pdf": documents.locked_pdf(),
        "empty.pdf": b"",
        "entities.docx": documents.zipped({"word/document.xml": "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"}),
        "deep.html": b"<div>" * 200_000 + b"deep",
        "nested.md": b"---\na: " + b"[" * 20_000 + b"\n---\n",
        "spans.html": b"<table><tr><td colspan=99999 rowspan=99999>1</td><td>2</td></tr></table>" * 3 + b"<p>end",
    }
    refused = {}
    for name, content in hostile.items():
        try:
            reader.read(written(tmp_path / name, content))
        except Unreadable as error:
            refused[name] = str(error)
    assert {"circle.pdf", "long.pdf", "locked.pdf", "empty.pdf", "entities.docx"} <= refused.keys()
    assert refused["long.pdf"] == "10000 pages, at most 5000 are read"
    good = written(tmp_path / "good.txt", b"all is well")
    assert reader.read(good).pages[0].text == "all is well"


def test_a_file_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    path = written(tmp_path / "a.pdf", documents.pdf(documents.lines("one")))
    with FileReader(ReadLimits(seconds=0)) as hurried, pytest.raises(Unreadable, match="took longer than 0 s"):
        hurried.read(path)


def test_a_file_that_needs_too_much_memory_costs_that_file(tmp_path: Path) -> None:
    large = written(tmp_path / "large.txt", b"a" * 150_000_000)
    small = written(tmp_path / "small.txt", b"all is well")
    with FileReader(ReadLimits(memory_bytes=400 << 20)) as frugal:
        with pytest.raises(Unreadable, match=r"memory|ended the process|characters"):
            frugal.read(large)
        assert frugal.read(small).pages[0].text == "all is well"


@pytest.mark.parametrize(
    "limits",
    named_at_night(
        {"memory": ReadLimits(memory_bytes=400 << 20), "time": ReadLimits(seconds_a_page=2)}, short=["memory"]
    ),
)
def test_a_page_that_ends_the_process_costs_itself(tmp_path: Path, limits: ReadLimits) -> None:
    heavy = documents.heavy_pdf("one", "two", "three", heavy=2, size=200_000_000)
    with FileReader(limits) as reading:
        document = reading.read(written(tmp_path / "heavy.pdf", heavy))
    assert [page.text for page in document.pages] == ["one", "three"]
    assert [str(remark).startswith("page 2: ") for remark in document.remarks] == [True]


def test_the_time_of_a_file_bounds_what_its_pages_cost(tmp_path: Path) -> None:
    heavy = documents.heavy_pdf("one", "two", "three", heavy=2, size=200_000_000)
    with FileReader(ReadLimits(seconds=1.0)) as hurried, pytest.raises(Unreadable, match="longer than"):
        hurried.read(written(tmp_path / "heavy.pdf", heavy))


def test_an_archive_is_unpacked_within_limits(tmp_path: Path) -> None:
    bomb = written(tmp_path / "bomb.zip", documents.zipped({"a.txt": b"0" * 5_000_000}))
    into = tmp_path / "into"
    with FileReader(ReadLimits(unpacked_bytes=1_000_000)) as careful:
        with pytest.raises(Unreadable, match=r"unpacks to more than 1000000 bytes|broken archive"):
            careful.unpack(bomb, into)
        good = written(tmp_path / "good.zip", documents.zipped({"in/a.txt": "all is well", "../b.txt": "out"}))
        told = careful.unpack(good, into)
        assert told == [("in/a.txt", ""), ("../b.txt", "its path leads out of the archive")]
    assert sorted(path.name for path in tmp_path.rglob("b.txt")) == []


def test_a_page_is_drawn_as_it_was_hashed(reader: FileReader, tmp_path: Path) -> None:
    content = documents.pdf(documents.lines("one"), documents.lines("two"))
    path = written(tmp_path / "a.pdf", content)
    sha256 = hashlib.sha256(content).hexdigest()
    pictures = [reader.draw(path, number, sha256=sha256) for number in (1, 2)]
    assert all(picture.startswith(b"\x89PNG\r\n\x1a\n") for picture in pictures)
    assert pictures[0] != pictures[1]
    with pytest.raises(Unreadable, match="the file has 2 pages"):
        reader.draw(path, 3, sha256=sha256)
    written(path, documents.pdf(documents.lines("three")))
    with pytest.raises(Unreadable, match="the file has changed"):
        reader.draw(path, 1, sha256=sha256)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (documents.locked_pdf(), "encrypted"),
        (documents.circular_pdf(), r"broken|drawn|pages"),
        (b"no PDF", "broken"),
        (b"", "broken"),
    ],
)
def test_what_cannot_be_drawn_is_named(reader: FileReader, tmp_path: Path, content: bytes, why: str) -> None:
    path = written(tmp_path / "a.pdf", content)
    with pytest.raises(Unreadable, match=why):
        reader.draw(path, 1, sha256=hashlib.sha256(content).hexdigest())


def test_a_page_of_any_size_gives_a_picture_of_bounded_size(reader: FileReader, tmp_path: Path) -> None:
    content = documents.pdf(documents.lines("one")).replace(b"[0 0 612 792]", b"[0 0 14000 9]")
    picture = reader.draw(written(tmp_path / "a.pdf", content), 1, sha256=hashlib.sha256(content).hexdigest())
    width, height = (int.from_bytes(picture[at : at + 4], "big") for at in (16, 20))
    assert (width, 1 <= height <= 2) == (1_600, True)
