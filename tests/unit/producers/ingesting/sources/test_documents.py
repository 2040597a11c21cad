"""What the command takes for documents, and what for JSON lines."""

from pathlib import Path

import pytest

from querymill.cli.exits import WrongUse
from querymill.cli.ingest import load
from querymill.ingesting.path_options import UnusablePath
from querymill.ingesting.sources.documents import found_at
from querymill.ingesting.sources.lines import are_lines
from querymill_reading.sources import FileSource


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("a.jsonl", "", True),
        ("a.data", ' {"sha1": 1}', True),
        ("a.txt", "{", False),
        ("a.json", '{"sha1": "a", "pages": [{"page": 1, "text": "x"}]}', True),
        ("a.json", '{\n  "pages": [\n    {\n      "page": 1', True),
        ("a.json", '{"sha1": "a"}\n\n{"sha1": "b"}\n', True),
        ("a.json", '{"title": "Ports", "berths": 4}\n', False),
        ("a.json", '{"book": {"pages": 12}}', False),
        ("a.json", '{\n  "title": "Ports"\n}\n', False),
        ("a.json", '[{"port": "Tinn"}]', False),
        ("a.json", "", False),
        ("a.pdf", "{", False),
        ("a", "x", False),
    ],
)
def test_json_lines_are_recognised(tmp_path: Path, name: str, content: str, lines: bool) -> None:
    (tmp_path / name).write_text(content)
    assert are_lines(str(tmp_path / name)) is lines


def test_a_folder_and_a_file_in_it_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    found, roots = found_at([str(tmp_path), str(tmp_path / "a.txt")], tmp_path)
    assert [entry.place for entry in found if isinstance(entry, FileSource)] == [str(tmp_path / "a.txt")] * 2
    assert roots == [str(tmp_path)]


@pytest.mark.parametrize(("name", "said"), [("missing.pdf", "no such file"), (".", "no document there")])
def test_nothing_to_read_is_wrong_use(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(UnusablePath, match=said):
        found_at([str(tmp_path / name)], tmp_path)


def test_options_of_documents_are_refused_for_lines(tmp_path: Path) -> None:
    with pytest.raises(UnusablePath, match="are for documents"):
        load("reports", [str(tmp_path / "a.jsonl")], "c", sync=True)
    with pytest.raises(WrongUse, match="one at a time"):
        load("modules", ["a.jsonl", "b.jsonl"], "c")


@pytest.mark.parametrize("kind", ["reports", "messages", "files"])
def test_a_name_that_no_collection_may_have_is_refused_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("{}\n" * 3)
    with pytest.raises(WrongUse, match=r"^--collection: 'my filings': must be up to 64 letters"):
        load(kind, [str(path)], "my filings")
