"""Evaluation sets of code documents."""

from pathlib import Path
from typing import Any

import pytest

from querymill_evaluation.module_sets import module_request, read_module_set
from querymill_evaluation.sets import BadSet, SetQuery
from tests.fixtures.evaluation_sets import write_set


def code(number: int) -> dict[str, Any]:
    meta_info = {"vtkjs_modules": ["vtkActor"], "description": "d"}
    return {"faiss_id": number, "file_path": f"{number}.js", "code": "x", "meta_info": meta_info, "package": "p"}


def test_code_documents_are_read_from_the_metadata_or_from_our_own_lines(tmp_path: Path) -> None:
    queries = [{"_id": "q", "text": "an actor", "metadata": {"kind": "plain"}}]
    wrapped = [{"_id": "a/0.js", "title": "", "text": "t", "metadata": code(0)}]
    packed = write_set(tmp_path / "a", corpus=wrapped, queries=queries, qrels={"q": {"a/0.js": 1}}, packed=True)
    found = read_module_set(packed)
    assert found.corpus_ids == {0: "a/0.js"}
    own = read_module_set(write_set(tmp_path / "b", corpus=[code(0)], queries=queries, qrels={"q": {"0": 1}}))
    assert own.corpus_ids == {0: "0"}
    assert own.documents == found.documents


def test_a_query_with_weighted_parts_is_asked_with_them() -> None:
    parts = [{"description": "use vtkActor", "weight": 8}]
    assert module_request(SetQuery("q", "t", {"query_list": parts}), "c")["sub_queries"] == parts
    assert "sub_queries" not in module_request(SetQuery("q", "t", {}), "c")


def test_a_bad_document_is_named_with_its_line(tmp_path: Path) -> None:
    queries = [{"_id": "q", "text": "?"}]
    folder = write_set(tmp_path / "a", corpus=[code(0), {"faiss_id": 1}], queries=queries, qrels={"q": {"0": 1}})
    with pytest.raises(BadSet, match="corpus, line 2: "):
        read_module_set(folder)


def test_a_limit_keeps_the_same_queries_each_time(tmp_path: Path) -> None:
    queries = [{"_id": f"q{n}", "text": "?"} for n in range(9)]
    judged = {f"q{n}": {"0": 1} for n in range(9)}
    folder = write_set(tmp_path / "a", corpus=[code(0)], queries=queries, qrels=judged)
    assert read_module_set(folder, max_queries=4).queries == read_module_set(folder, max_queries=6).queries[:4]
    assert len(read_module_set(folder).queries) == 9
