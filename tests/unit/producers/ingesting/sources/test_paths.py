"""`mill.ingest` of what is at a path, on a mill in memory: as `querymill ingest KIND PATH` reads it."""

import asyncio
import gzip
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from querymill import BadLine, Ingestion, LoadProgress, PathOptions, UnreadPath, UnusablePath
from querymill.client.transport import RETRIEVERS
from querymill.ingesting.loading import load_async
from querymill.testing import MemoryMill
from querymill_shared.contracts.files.search import FileSearch
from tests.fixtures.documents import lines, pdf
from tests.fixtures.histories import claude_line, write_lines
from tests.fixtures.mixed_documents import HOSTILE, write_mixed


@pytest.fixture
def mill() -> Iterator[MemoryMill]:
    with MemoryMill() as opened:
        yield opened


def documents(mill: MemoryMill, kind: Any, collection: str) -> list[str]:
    return sorted(str(card.id) for card in mill.list(kind, collection=collection).documents)


def test_a_document_is_read_and_the_same_again_is_unchanged(mill: MemoryMill, tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("# Nine ships\n\nThe fleet counts nine ships.\n")
    options = PathOptions(company="Nordhav", period="2024")
    done = mill.ingest("reports", path, collection="filings", options=options)
    assert (done.outcomes, done.is_clean) == ({"ingested": 1}, True)
    stored = mill.show("reports", documents(mill, "reports", "filings")[0], collection="filings")
    assert (stored["company"], stored["period"], stored["title"]) == ("Nordhav", "2024", "Nine ships")
    assert mill.ingest("reports", str(path), collection="filings", options=options).outcomes == {"unchanged": 1}


def test_a_folder_is_read_and_what_cannot_be_read_is_named(mill: MemoryMill, tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    write_mixed(folder, 20, bomb_bytes=5 << 20)
    told: list[LoadProgress | BadLine | UnreadPath] = []
    done = mill.ingest("reports", folder, collection="mixed", on_event=told.append)
    failed = {unread.place.removeprefix(f"{folder}/") for unread in done.unread if unread.failed}
    assert failed >= HOSTILE.keys() - {"bomb.zip", "bomb.docx"}  # these are no bombs by the limits of a client
    assert done.outcomes["unread"] == len(failed)
    assert not done.is_clean
    assert [event for event in told if isinstance(event, UnreadPath)] == done.unread
    ends = [event.document for event in told if isinstance(event, LoadProgress) and event.document is not None]
    assert len(ends) == done.outcomes["ingested"] == mill.list("reports", collection="mixed").total
    assert all(str(document).startswith(f"{folder}/") for document in ends)


def test_what_of_a_document_was_left_out_is_said_of_its_file(mill: MemoryMill, tmp_path: Path) -> None:
    (tmp_path / "mail.html").write_text("<p>Nine ships</p><nav>Home</nav>")
    (tmp_path / "whole.html").write_text("<p>Ten ships</p>")
    done = mill.ingest("reports", tmp_path, collection="c")
    assert done.remarks == {str(tmp_path / "mail.html"): ["1 navigation: left out"]}
    assert (done.outcomes, done.is_clean) == ({"ingested": 2}, True)


def test_without_a_program_for_it_ocr_is_refused_before_anything_is_stored(
    mill: MemoryMill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "a.txt").write_text("nine ships")
    with pytest.raises(UnusablePath, match=r"^ocr: tesseract is not on the PATH: install .*, or leave it out"):
        mill.ingest("reports", tmp_path, collection="c", options=PathOptions(ocr=True))
    assert mill.collections() == {}


def test_scans_that_were_left_out_are_read_once_ocr_is_wanted(
    mill: MemoryMill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = tmp_path / "scan.pdf"
    scan.write_bytes(pdf(lines("Typed."), [], pictures={2: [(0, 0, 612, 792)]}))
    program = tmp_path / "bin" / "tesseract"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\n[ "$1" = --list-langs ] && echo eng || echo Nine ships\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    plain = mill.ingest("reports", scan, collection="c")
    (missed,) = plain.remarks[str(scan)]
    assert missed.startswith("page 2: no text")
    read = mill.ingest("reports", scan, collection="c", options=PathOptions(ocr=True))
    assert read.outcomes == {"ingested": 1}
    shown = mill.show("reports", documents(mill, "reports", "c")[0], collection="c")
    assert [page["text"] for page in shown["pages"]] == ["Typed.", "Nine ships"]
    assert shown["remarks"] == ["page 2: 1 scanned page: read by OCR (Tesseract, eng), which may misread"]
    assert mill.ingest("reports", scan, collection="c", options=PathOptions(ocr=True)).outcomes == {"unchanged": 1}


def test_documents_whose_files_are_gone_are_dropped_if_that_is_asked(mill: MemoryMill, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"{name}: nine ships")
    assert mill.ingest("reports", tmp_path, collection="c").outcomes == {"ingested": 2}
    (tmp_path / "b.txt").unlink()
    synced = mill.ingest("reports", tmp_path, collection="c", options=PathOptions(sync=True))
    assert synced.outcomes == {"unchanged": 1, "dropped": 1}
    assert mill.list("reports", collection="c").total == 1


def test_a_history_is_recognised_alone_in_a_folder_and_in_an_archive(mill: MemoryMill, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    asked = claude_line("user", "u1", None, "where is the ship?", second=1)
    write_lines(folder / "s1.jsonl", [asked, claude_line("assistant", "a1", "u1", "in the harbour", second=2)])
    (folder / "notes.txt").write_text("no history")
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.write(folder / "s1.jsonl", "s1.jsonl")
    alone = mill.ingest("messages", folder / "s1.jsonl", collection="alone")
    below = mill.ingest("messages", folder, collection="below", options=PathOptions(origin="claude-code"))
    packed = mill.ingest("conversations", tmp_path / "export.zip", collection="packed")
    for done in (alone, below, packed):
        assert (done.outcomes["ingested"], done.is_clean) == (1, True)
    assert [(unread.place, unread.failed) for unread in below.unread] in ([], [(str(folder / "notes.txt"), False)])
    assert mill.show("messages", documents(mill, "messages", "alone")[0], collection="alone")["origin"] == "claude-code"


def test_a_code_base_is_compared_and_what_is_gone_is_dropped(mill: MemoryMill, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def sail():\n    return 9\n")
    (tmp_path / "b.py").write_text("b = 1\n")
    (tmp_path / ".env").write_text("TOKEN=1")
    (tmp_path / "picture.bin").write_bytes(b"\x00\x01")
    done = mill.ingest("files", tmp_path, collection="code")
    assert done.outcomes == {"ingested": 2, "left out": 2}
    assert (done.is_clean, done.parts > 0) == (True, True)
    assert {unread.place: unread.failed for unread in done.unread} == {".env": False, "picture.bin": False}
    (tmp_path / "b.py").unlink()
    again = mill.ingest("files", tmp_path, collection="code", options=PathOptions(include_secrets=True))
    assert again.outcomes == {"ingested": 1, "unchanged": 1, "dropped": 1, "left out": 1}
    assert documents(mill, "files", "code") == [".env", "a.py"]


def test_json_lines_may_be_compressed_and_a_bad_one_is_named(mill: MemoryMill, tmp_path: Path) -> None:
    path = tmp_path / "reports.jsonl.gz"
    good = {"sha1": "a", "title": "t", "company": "c", "pages": [{"page": 1, "text": "ships"}]}
    path.write_bytes(gzip.compress(f"{json.dumps(good)}\n{{no\n".encode()))
    done = mill.ingest("reports", path, collection="filings")
    assert done.outcomes == {"ingested": 1, "bad": 1}
    assert done.bad[0].number == 2


def test_awaited_a_path_is_read_as_well(mill: MemoryMill, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("nine ships")

    class Lent:
        def __enter__(self) -> MemoryMill:
            return mill

        def __exit__(self, *_: object) -> None: ...

    async def run() -> Ingestion:
        options = PathOptions(title="Ships")
        return await load_async(Lent, "reports", tmp_path, "c", lambda _: None, options)

    assert asyncio.run(run()).outcomes == {"ingested": 1}
    assert [card.title for card in mill.list("reports", collection="c").documents] == ["Ships"]


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("messages", PathOptions(title="t"), "^title, company, period, published_at, ocr and sync are for documents"),
        ("messages", PathOptions(ocr=True), "ocr and sync are for documents"),
        ("reports", PathOptions(origin="codex"), "are for histories"),
        ("messages", PathOptions(vectors=True), "include_secrets and vectors are for files"),
        ("reports", PathOptions(include_secrets=True), "include_secrets and vectors are for files"),
        ("messages", PathOptions(origin="slak"), r"^origin \(--from\): slak: must be one of claude-code"),
        ("messages", PathOptions(), "no history"),
    ],
)
def test_an_option_that_is_not_for_this_is_refused(
    mill: MemoryMill, tmp_path: Path, kind: Any, options: PathOptions, said: str
) -> None:
    (tmp_path / "a.txt").write_text("nine ships")
    with pytest.raises(UnusablePath, match=said):
        mill.ingest(kind, tmp_path, collection="c", options=options)
    assert mill.collections() == {}


def test_what_is_not_there_and_options_for_rows_are_refused(mill: MemoryMill, tmp_path: Path) -> None:
    for kind in RETRIEVERS:
        with pytest.raises(FileNotFoundError):
            mill.ingest(kind, tmp_path / "nothing", collection="c")
    with pytest.raises(UnusablePath, match=r"2023/\*\.pdf"):
        mill.ingest("reports", str(tmp_path / "2023/*.pdf"), collection="c")
    with pytest.raises(ValueError, match="options: of rows there are include_secrets and vectors, for files"):
        mill.ingest("reports", [], collection="c", options=PathOptions())


def test_rows_of_files_leave_secrets_out_unless_they_are_asked_for(mill: MemoryMill) -> None:
    rows = [{"path": ".env", "content": "A=1"}, {"path": "a.py", "content": "a = 1"}]
    done = mill.ingest("files", rows, collection="code")
    assert (done.outcomes, done.is_clean) == ({"ingested": 1, "left out": 1}, True)
    assert done.unread == [UnreadPath(".env", "a secret, by its name", failed=False)]
    whole = mill.ingest("files", rows, collection="code", options=PathOptions(include_secrets=True))
    assert whole.outcomes.total() == sum(whole.outcomes[name] for name in ("ingested", "unchanged"))
    assert documents(mill, "files", "code") == [".env", "a.py"]


def test_notebooks_and_secrets_in_json_lines_are_read_as_in_a_folder(mill: MemoryMill, tmp_path: Path) -> None:
    notebook = {"cells": [{"cell_type": "code", "source": "x = 1"}]}
    rows = [{"path": "a.ipynb", "content": json.dumps(notebook)}, {"path": ".env", "content": "A=1"}]
    (tmp_path / "files.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = mill.ingest("files", tmp_path / "files.jsonl", collection="code")
    assert done.outcomes == {"ingested": 1, "left out": 1}
    assert mill.show("files", "a.ipynb", collection="code")["content"].startswith("# notebook: python\n# %% cell 1\n")


@pytest.mark.parametrize("as_rows", [True, False])
def test_files_have_vectors_if_they_are_asked_for(mill: MemoryMill, tmp_path: Path, as_rows: bool) -> None:
    rows = [{"path": f"{name}.py", "content": f"{name} = 1"} for name in "ab"]
    for row in rows:
        (tmp_path / row["path"]).write_text(row["content"])
    given = rows if as_rows else tmp_path
    for collection, options in (("unasked", PathOptions()), ("asked", PathOptions(vectors=True))):
        mill.ingest("files", given, collection=collection, options=options)
        found = mill.submit(FileSearch(query="a", collection=collection, channels=("words", "vectors")))
        assert found.result(timeout=10).complete is options.vectors  # those that nobody asked for come seconds later
