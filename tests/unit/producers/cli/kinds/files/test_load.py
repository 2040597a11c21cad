"""What ``querymill ingest files`` finds, and what it says of it."""

import io
import json
from pathlib import Path

import pytest

from querymill.cli.kinds.files.load import by_reason, report, summarised
from querymill.cli.terminal import Console
from querymill.ingesting.path_options import UnusablePath
from querymill.ingesting.sources.code_bases import code_base_at
from querymill.ingesting.sources.comparing import Listing, find
from querymill.ingesting.submitting import LoadProgress
from querymill_shared.contracts.files.ingest import CompareFilesResult, IngestFilesResult
from querymill_shared.contracts.ingest import IngestedDocument


def found_in(path: Path) -> Listing:
    return find(code_base_at(path), path)


def compared(*changed: str, removed: tuple[str, ...] = ()) -> CompareFilesResult:
    return CompareFilesResult(job_id="j", collection="c", total=3, complete=True, changed=changed, removed=removed,
                              pending=4)  # fmt: skip


def ingested(path: str) -> IngestFilesResult:
    document = IngestedDocument(document=path, outcome="ingested", total=3)
    return IngestFilesResult(job_id="j", collection="c", total=3, complete=True, documents=(document,), symbols=2,
                             pending=5)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("a = 1")
    (tmp_path / "b.py").write_text("b = 1")
    (tmp_path / "b.bin").write_bytes(b"\x00\x01")
    (tmp_path / "old.py").write_bytes(b"# caf\xe9, in the letters of another time")
    return tmp_path


def test_a_directory_is_listed_with_what_is_skipped(folder: Path) -> None:
    found = found_in(folder)
    assert sorted(found.listed) == ["a.py", "b.py", "old.py"]
    assert found.is_whole
    assert by_reason(found) == {
        "skipped, binary": ["b.bin"],
        "read as CP1252": ["old.py"],
    }


def test_a_bad_json_line_means_that_not_everything_was_read(tmp_path: Path) -> None:
    path = tmp_path / "files.jsonl"
    path.write_text('{"path": "a.py", "content": ""}\n{"path": "b.py"}\n')
    found = found_in(path)
    assert list(found.listed) == ["a.py"]
    assert not found.is_whole
    assert by_reason(found) == {"skipped, content: Field required": ["line 2"]}


def test_nothing_to_load_is_refused_with_the_reasons(tmp_path: Path) -> None:
    (tmp_path / "b.bin").write_bytes(b"\x00")
    with pytest.raises(UnusablePath, match=r"holds no file that can be loaded \(b.bin: binary\)"):
        found_in(tmp_path)
    with pytest.raises(UnusablePath, match=r"path: .*nowhere"):
        found_in(tmp_path / "nowhere")


def test_the_summary_counts_files_parts_and_failures(folder: Path) -> None:
    job = ingested("a.py")
    outcomes = [
        LoadProgress(1, result=job.documents[0], document="a.py", job=job),
        LoadProgress(2, document="b.py", reason="file 2: dead"),
    ]
    summary = summarised(found_in(folder), compared("a.py", "b.py", removed=("gone.py",)), outcomes)
    assert (summary["files"], summary["ingested"], summary["unchanged"]) == (3, 1, 1)
    assert (summary["symbols"], summary["chunks"], summary["pending"]) == (2, 3, 5)
    assert summary["removed"] == ["gone.py"]
    assert summary["failed"] == [{"document": "b.py", "reason": "file 2: dead"}]


def test_without_a_change_the_comparison_says_what_waits_for_vectors(folder: Path) -> None:
    assert summarised(found_in(folder), compared(), [])["pending"] == 4


def test_json_holds_the_summary_and_the_text_names_what_was_skipped(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, changes = found_in(folder), compared("a.py")
    console = Console(file=io.StringIO(), width=200)
    report(found, changes, [], console, as_json=True)
    assert json.loads(capsys.readouterr().out) == summarised(found, changes, [])
    report(found, changes, [], console, as_json=False)
    assert "skipped, binary: b.bin" in console.file.getvalue()  # type: ignore[attr-defined]  # the one above
    assert "4 chunks wait for their vectors" in capsys.readouterr().out
