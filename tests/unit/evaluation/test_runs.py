"""Saved runs: written question by question, read back, continued, refused."""

import json
from pathlib import Path

import pytest

from querymill_evaluation.runs import (
    HEAD,
    QUERIES,
    BadRun,
    QueryOutcome,
    RunHead,
    append_outcome,
    begin_run,
    fingerprint,
    read_run,
)

QRELS = {"q1": {"a": 1}, "q2": {"b": 1}}
RUN = RunHead(set="s", kind="reports", options={"top_n": 5}, questions="f", asked=2)


def outcome(query_id: str, *ranking: str) -> QueryOutcome:
    scores = {judged: 1 / rank for rank, judged in enumerate(ranking, start=1)}
    return QueryOutcome(query_id, scores, 12.5, 1, 30, degraded=False, figures={"returned": 3})


def test_what_was_written_is_read_again_with_its_measures(tmp_path: Path) -> None:
    begin_run(tmp_path / "run", RUN)
    append_outcome(tmp_path / "run", outcome("q1", "x", "a"), QRELS)
    run = read_run(tmp_path / "run")
    assert run.head == RUN
    assert run.outcomes == {"q1": outcome("q1", "x", "a")}
    # The relevant document at rank 2: nDCG 1 / log2(3), reciprocal rank 1/2.
    assert run.measured["q1"] == {"ndcg@10": 0.63093, "recall@10": 1.0, "mrr@10": 0.5}
    assert not run.finished
    append_outcome(tmp_path / "run", outcome("q2"), QRELS)
    assert read_run(tmp_path / "run").finished
    assert read_run(tmp_path / "run").values("recall@10") == [1.0, 0.0]


def test_an_interrupted_run_is_continued_and_a_line_that_was_cut_is_asked_again(tmp_path: Path) -> None:
    begin_run(tmp_path, RUN)
    append_outcome(tmp_path, outcome("q1", "a"), QRELS)
    with (tmp_path / QUERIES).open("a") as lines:
        lines.write('{"_id": "q2", "rank')
    assert set(begin_run(tmp_path, RUN).outcomes) == {"q1"}
    append_outcome(tmp_path, outcome("q2", "b"), QRELS)
    assert set(read_run(tmp_path).outcomes) == {"q1", "q2"}


def test_another_run_in_the_folder_is_refused_with_what_differs(tmp_path: Path) -> None:
    begin_run(tmp_path, RUN)
    with pytest.raises(BadRun, match=r"holds another run \(options: \{'top_n': 5\}, now \{\}\)"):
        begin_run(tmp_path, RUN.model_copy(update={"options": {}}))


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(BadRun, match="must be a new folder, or hold a run"):
        begin_run(tmp_path, RUN)


def test_a_missing_folder_and_malformed_files_are_named_with_the_rule(tmp_path: Path) -> None:
    with pytest.raises(BadRun, match="must be the folder of a saved run"):
        read_run(tmp_path / "none")
    begin_run(tmp_path, RUN)
    (tmp_path / QUERIES).write_text('{"_id": "q1"}\n')
    with pytest.raises(BadRun, match=r"queries.jsonl, line 1: ranking: Field required"):
        read_run(tmp_path)
    (tmp_path / QUERIES).unlink()
    with pytest.raises(BadRun, match=r"queries.jsonl: No such file"):
        read_run(tmp_path)
    (tmp_path / HEAD).write_text(json.dumps({"set": "s"}))
    with pytest.raises(BadRun, match=r"run.json: kind: Field required"):
        read_run(tmp_path)


def test_the_fingerprint_changes_with_texts_and_judgements_and_not_with_their_order() -> None:
    asked = [("q1", "one"), ("q2", "two")]
    known = fingerprint(asked, QRELS)
    assert fingerprint(asked[::-1], dict(reversed(QRELS.items()))) == known
    assert fingerprint([("q1", "one"), ("q2", "too")], QRELS) != known
    assert fingerprint(asked, QRELS | {"q1": {"a": 2}}) != known
    assert fingerprint(asked, QRELS | {"q3": {"a": 2}}) == known  # is not asked
