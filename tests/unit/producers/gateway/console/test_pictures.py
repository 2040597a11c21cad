"""Which file of a report may be shown as pictures: one in a folder of the operator, as it was when it was read."""

import os
from pathlib import Path
from typing import Any

import pytest

from querymill.gateway.console.pictures import file_of, kept_file
from querymill_reading.sources import FileStamp
from tests.fixtures import documents


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "kept"
    folder.mkdir()
    return folder


def written(path: Path, text: str = "one") -> Path:
    path.write_bytes(documents.pdf(documents.lines(text)))
    return path


def report_on(path: Path, **changes: Any) -> dict[str, Any]:
    """What is stored of a report that was read from a file."""
    return {"format": "pdf", "source": str(path), "source_stamp": str(FileStamp.of(path, "asked"))} | changes


def test_a_file_in_a_named_folder_is_shown(folder: Path) -> None:
    path = written(folder / "a.pdf")
    kept = kept_file(report_on(path), ["/nowhere", str(folder)])
    assert kept is not None
    assert kept.path == path.resolve()
    below = folder / "2023"
    below.mkdir()
    assert kept_file(report_on(written(below / "b.pdf")), [str(folder)]) is not None


def test_without_a_named_folder_no_file_is_shown(folder: Path) -> None:
    assert kept_file(report_on(written(folder / "a.pdf")), []) is None


def test_a_folder_may_be_a_link_and_a_file_reached_by_one(folder: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    linked.symlink_to(folder)
    report = report_on(written(folder / "a.pdf")) | {"source": str(linked / "a.pdf")}
    assert kept_file(report, [str(linked)]) is not None
    assert kept_file(report, [str(folder)]) is not None


@pytest.mark.parametrize("way", ["beside", "dots", "link", "linked folder", "prefix"])
def test_no_path_leads_out_of_the_folders(folder: Path, tmp_path: Path, way: str) -> None:
    outside = tmp_path / ("kept-not" if way == "prefix" else "outside")
    outside.mkdir()
    secret = written(outside / "secret.pdf")
    (folder / "link.pdf").symlink_to(secret)
    (folder / "in").symlink_to(outside)
    source = {
        "beside": secret, "prefix": secret, "dots": folder / ".." / "outside" / "secret.pdf",
        "link": folder / "link.pdf", "linked folder": folder / "in" / "secret.pdf",
    }[way]  # fmt: skip
    assert kept_file(report_on(secret, source=str(source)), [str(folder)]) is None
    assert kept_file(report_on(secret, source=str(source)), [str(tmp_path)]) is not None


def test_a_file_that_has_changed_or_is_away_is_not_shown(folder: Path) -> None:
    path = written(folder / "a.pdf")
    report = report_on(path)
    before = path.stat()
    written(path, "two")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert kept_file(report, [str(folder)]) is None
    written(path, "one")
    assert kept_file(report, [str(folder)]) is not None
    path.unlink()
    assert kept_file(report, [str(folder)]) is None


def test_what_is_no_plain_file_is_not_opened(folder: Path) -> None:
    report = report_on(written(folder / "a.pdf"))
    os.mkfifo(folder / "pipe.pdf")  # to open it would wait for a writer
    (folder / "circle.pdf").symlink_to(folder / "circle.pdf")
    for name in ("pipe.pdf", "circle.pdf", ".", "x" * 300):
        assert kept_file(report | {"source": str(folder / name)}, [str(folder)]) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "docx"},
        {"source": "a.pdf"},
        {"source": ""},
        {"source": None},
        {"source": ["a.pdf"]},
        {"source": "/a\0.pdf"},
        {"source_stamp": None},
        {"source_stamp": "a:b"},
        {"source_stamp": f"1:2:{'0' * 63}:asked"},
        {"source_stamp": f"1:2:{'0' * 64}"},
    ],
)
def test_a_report_that_names_no_pdf_with_its_content_has_no_file(folder: Path, changes: dict[str, Any]) -> None:
    assert file_of(report_on(written(folder / "a.pdf")) | changes) is None


def test_a_member_of_an_archive_is_no_file(folder: Path) -> None:
    path = written(folder / "a.pdf")
    assert kept_file(report_on(path, source=f"{folder}/papers.zip!a.pdf"), [str(folder)]) is None
