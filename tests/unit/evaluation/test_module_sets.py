"""Evaluation sets of code documents."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from querymill_evaluation.module_sets import module_request, read_module_set
from querymill_evaluation.sets import BadSet, SetQuery


def write(folder: Path, corpus: list[dict[str, Any]], queries: list[dict[str, Any]], qrels: str) -> Path:
    with gzip.open(folder / "corpus.jsonl.gz", "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(line) + "\n" for line in corpus)
    (folder / "queries.jsonl").write_text("".join(json.dumps(line) + "\n" for line in queries))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + qrels)
    return folder


def page(name: str, number: int, company: str, year: int) -> dict[str, Any]:
    metadata = {"doc_name": name, "company": company, "year": year, "page": number}
    return {"_id": f"{name}/p{number}", "title": "", "text": f"page {number}", "metadata": metadata}


PAGES = [page("X", 0, "Ex", 2022), page("X", 7, "Ex", 2022), page("Y", 1, "Why", 2021)]


def code(number: int) -> dict[str, Any]:
    meta_info = {"vtkjs_modules": ["vtkActor"], "description": "d"}
    return {"faiss_id": number, "file_path": f"{number}.js", "code": "x", "meta_info": meta_info, "package": "p"}


def test_code_documents_are_read_from_the_metadata_or_from_our_own_lines(tmp_path: Path) -> None:
    query = {"_id": "q", "text": "an actor", "metadata": {"kind": "plain"}}
    wrapped = [{"_id": "a/0.js", "title": "", "text": "t", "metadata": code(0)}]
    found = read_module_set(write(tmp_path, wrapped, [query], "q\ta/0.js\t1\n"))
    assert found.corpus_ids == {0: "a/0.js"}
    own = read_module_set(write(tmp_path, [code(0)], [query], "q\t0\t1\n"))
    assert own.corpus_ids == {0: "0"}
    assert own.documents == found.documents


def test_a_query_with_weighted_parts_is_asked_with_them() -> None:
    parts = [{"description": "use vtkActor", "weight": 8}]
    assert module_request(SetQuery("q", "t", {"query_list": parts}), "c")["sub_queries"] == parts
    assert "sub_queries" not in module_request(SetQuery("q", "t", {}), "c")


def test_a_folder_without_code_documents_is_no_such_set(tmp_path: Path) -> None:
    with pytest.raises(BadSet, match=r"corpus, line 1: .*meta_info: Field required"):
        read_module_set(write(tmp_path, PAGES, [{"_id": "q", "text": "?"}], "q\tX/p7\t1\n"))
