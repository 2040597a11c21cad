"""From judged files to a profile, and sets of files."""

import gzip
import itertools
import json
from pathlib import Path

import pytest

from querymill_evaluation.file_calibration import JudgedFile, bands, fitted, profile, solved
from querymill_evaluation.file_sets import read_file_set
from querymill_evaluation.sets import BadSet


def test_a_small_system_of_equations() -> None:
    assert solved([[0.0, 2.0], [1.0, 1.0]], [4.0, 5.0]) == pytest.approx([3.0, 2.0])


def test_evidence_that_tells_files_apart_weighs_more_than_evidence_that_does_not() -> None:
    rows = [[n / 10, (n * 7 % 10) / 10] for n in range(10)] * 5
    weights = fitted(rows, [row[0] > 0.6 for row in rows])
    assert weights[0] > 2 * abs(weights[1])


def test_the_bands_rise_even_where_the_two_kinds_of_files_overlap() -> None:
    points = bands([1.0, 1.0, 1.0, 2.0], [1.0, 1.5, 1.5, 3.0])
    assert all(left[0] < right[0] and left[1] < right[1] for left, right in itertools.pairwise(points))


def test_three_quarters_of_the_relevant_files_are_high_and_nearly_all_medium() -> None:
    relevant, others = [float(n) for n in range(100, 200)], [float(n) for n in range(100)]
    points = {worth: total for total, worth in bands(relevant, others)}
    assert sum(total >= points[0.8] for total in relevant) == pytest.approx(75, abs=1)
    assert sum(total >= points[0.5] for total in relevant) == pytest.approx(95, abs=1)


def test_a_set_that_tells_nothing_apart_is_refused() -> None:
    with pytest.raises(ValueError, match="tell candidates apart"):
        profile([JudgedFile({"lexical": 1.0}, relevant=True)], ["lexical"])


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


def test_a_folder_that_is_no_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadSet, match=str(tmp_path)):
        read_file_set(tmp_path)
