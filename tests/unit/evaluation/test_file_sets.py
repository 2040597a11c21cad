"""Sets of files: each repository a collection."""

import gzip
import json
from pathlib import Path

import pytest

from querymill_evaluation.file_sets import read_file_set
from querymill_evaluation.sets import BadSet


def test_each_repository_of_a_set_is_a_collection(tmp_path: Path) -> None:
    lines = [
        {"_id": "a:x.py", "title": "x.py", "text": "x = 1", "metadata": {"repo": "us/a", "path": "x.py"}},
        {"_id": "b:x.py", "title": "x.py", "text": "x = 2", "metadata": {"repo": "us/b", "path": "x.py"}},
    ]
    with gzip.open(tmp_path / "corpus.jsonl.gz", "wt") as corpus:
        corpus.write("\n".join(json.dumps(line) for line in lines))
    query = {"_id": "q", "text": "find x", "metadata": {"repo": "us/b"}}
    (tmp_path / "queries.jsonl").write_text(json.dumps(query))
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\tb:x.py\t1\n")
    chosen = read_file_set(tmp_path)
    asked = chosen.collection(chosen.queries[0])
    assert asked.endswith("us-b")
    assert [file.content for file in chosen.files[asked]] == ["x = 2"]
    assert chosen.corpus_ids[asked, "x.py"] == "b:x.py"


def written(folder: Path, *lines: dict[str, object] | str) -> Path:
    (folder / "corpus.jsonl").write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines))
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "find x", "metadata": {}}')
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\tx.py\t1\n")
    return folder


def test_our_own_lines_are_a_set_and_their_paths_are_judged(tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [
        {"path": "x.py", "content": "x = 1", "repo": "us/a"},
        {"path": "x.py", "content": "", "repo": "us/b"},
    ]
    chosen = read_file_set(written(tmp_path, *lines))
    assert list(chosen.corpus_ids.values()) == ["x.py", "x.py"]
    assert [name.rpartition("-")[2] for name, _ in chosen.corpus_ids] == ["a", "b"]
    assert [file.content for files in chosen.files.values() for file in files] == ["x = 1", ""]


def test_a_file_without_a_path_is_known_by_its_title_or_its_id(tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [
        {"_id": "1", "title": "", "text": "a", "metadata": {"lang": "python"}},
        {"_id": "2", "text": "b"},
        {"_id": "3", "title": "wings in a slipstream", "text": "c", "metadata": {}},
        {"_id": "4", "title": "wings in a slipstream", "text": "d", "metadata": {}},
    ]
    chosen = read_file_set(written(tmp_path, *lines))
    assert {path: judged for (_, path), judged in chosen.corpus_ids.items()} == {
        "1": "1", "2": "2", "wings in a slipstream": "3", "4": "4"
    }  # fmt: skip


BAD_LINES = [
    ('{"path": "a"}', "corpus, line 3: content: Field required"),
    ('{"path": "/a", "content": ""}', "corpus, line 3: path: must be relative"),
    ('{"path": "x.py", "content": ""}', "corpus, line 3: path: a line before it has the same"),
    ('{"_id": "1"}', "corpus, line 3: text: Field required"),
    ('{"text": "1"}', "corpus, line 3: _id: Field required"),
    ('{"_id": ', "corpus, line 3: not JSON"),
    ("[]", "corpus, line 3: it and its metadata must be objects"),
    ('{"_id": "1", "text": "", "metadata": "b"}', "corpus, line 3: it and its metadata must be objects"),
]


@pytest.mark.parametrize(("line", "said"), BAD_LINES)
def test_a_bad_line_is_named_with_its_field(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(BadSet, match=said):
        read_file_set(written(tmp_path, {"path": "x.py", "content": ""}, "", line))


def test_a_query_without_an_id_is_named(tmp_path: Path) -> None:
    folder = written(tmp_path, {"path": "x.py", "content": ""})
    (folder / "queries.jsonl").write_text('{"text": "x"}')
    with pytest.raises(BadSet, match="queries, line 1: _id: Field required"):
        read_file_set(folder)
