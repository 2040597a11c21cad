"""From judged files to a profile, and sets of files."""

import gzip
import itertools
import json
from pathlib import Path

import pytest

from querymill.evaluation.file_calibration import JudgedFile, bands, fitted, profile, solved
from querymill.evaluation.file_sets import batches, read_file_set
from querymill.evaluation.sets import BadSet
from querymill_shared.contracts.ingest_files import SourceFile


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


def test_a_folder_that_is_no_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadSet, match=str(tmp_path)):
        read_file_set(tmp_path)


def test_batches_hold_every_file_once() -> None:
    files = tuple(SourceFile(path=f"{n}.py", content="x" * 100) for n in range(10))
    cut = list(batches(files, most=4, characters=250))
    assert [len(batch) for batch in cut] == [2] * 5
    assert [file for batch in cut for file in batch] == list(files)
