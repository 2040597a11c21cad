"""Evaluation sets on disk: pages, queries, judgements, routing."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from querymill_evaluation.sets import BadSet, SetQuery, read_qrels, read_report_set, routing_fields, sample


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


def test_pages_of_one_filing_become_one_report(tmp_path: Path) -> None:
    queries: list[dict[str, Any]] = [
        {"_id": "q1", "text": "profit?", "metadata": {}},
        {"_id": "q2", "text": "not judged"},
    ]
    found = read_report_set(write(tmp_path, PAGES, queries, "q1\tX/p7\t1\n"))
    assert [(report.sha1, report.company, report.period, len(report.pages)) for report in found.reports] == [
        ("X", "Ex", "2022", 2),
        ("Y", "Why", "2021", 1),
    ]
    assert found.corpus_ids["X", 7] == "X/p7"
    assert [query.query_id for query in found.queries] == ["q1"]


def test_passages_without_page_numbers_are_numbered_in_order(tmp_path: Path) -> None:
    corpus = [{"_id": f"d#{n}", "title": "", "text": "t", "metadata": {"doc": "d"}} for n in range(3)]
    found = read_report_set(write(tmp_path, corpus, [{"_id": "q", "text": "?"}], "q\td#2\t1\n"))
    assert found.corpus_ids == {("d", 0): "d#0", ("d", 1): "d#1", ("d", 2): "d#2"}


def test_a_sample_of_queries_is_the_same_each_time_and_grows(tmp_path: Path) -> None:
    queries = [{"_id": f"q{n}", "text": "?"} for n in range(20)]
    folder = write(tmp_path, PAGES, queries, "".join(f"q{n}\tX/p7\t1\n" for n in range(20)))
    few = [query.query_id for query in read_report_set(folder, max_queries=5).queries]
    more = [query.query_id for query in read_report_set(folder, max_queries=10).queries]
    assert few == more[:5]


def test_a_folder_that_is_no_set_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(BadSet, match="qrels"):
        read_report_set(tmp_path)


@pytest.mark.parametrize(
    ("metadata", "routing", "fields"),
    [
        ({"doc": "d"}, None, {"documents": ["d"]}),
        ({"company": "Ex", "year": 2022, "doc_name": "X"}, None, {"company": "Ex", "period": "2022"}),
        ({"company": "Ex", "year": 2022, "doc_name": "X"}, "documents", {"documents": ["X"]}),
        ({"company": "Ex", "year": 2022}, "question", {}),
        ({}, None, {}),
    ],
)
def test_a_query_is_routed_as_its_set_means_it(metadata: dict[str, Any], routing: Any, fields: dict[str, Any]) -> None:
    assert routing_fields(SetQuery("q", "?", metadata), routing) == fields


def test_a_thinned_set_keeps_the_judged_pages_and_some_others(tmp_path: Path) -> None:
    corpus = [page("X", number, "Ex", 2022) for number in range(30)]
    folder = write(tmp_path, corpus, [{"_id": "q", "text": "?"}], "q\tX/p7\t1\n")
    (thin,) = read_report_set(folder, distractors=4).reports
    numbers = [found.page for found in thin.pages]
    assert 7 in numbers
    assert len(numbers) == 5
    assert numbers == sorted(numbers)
    assert read_report_set(folder, distractors=4).reports == (thin,)


def test_our_own_lines_are_judged_by_report_and_page(tmp_path: Path) -> None:
    own = {"sha1": "X", "title": "X", "company": "Ex", "pages": [{"page": 3, "text": "profit"}]}
    found = read_report_set(write(tmp_path, [own], [{"_id": "q", "text": "?"}], "q\tX/3\t1\n"))
    assert found.corpus_ids == {("X", 3): "X/3"}
    assert found.reports[0].company == "Ex"


def test_pages_that_name_no_report_are_reports_of_their_own(tmp_path: Path) -> None:
    corpus: list[dict[str, Any]] = [
        {"_id": "a", "title": "A", "text": "t"},
        {"_id": "b", "text": "t", "metadata": {"period": 2020}},
    ]
    found = read_report_set(write(tmp_path, corpus, [{"_id": "q", "text": "?"}], "q\ta\t1\n"))
    assert [(report.sha1, report.title, report.company, report.period) for report in found.reports] == [
        ("a", "A", "a", None),
        ("b", "b", "b", "2020"),
    ]


def test_without_distractors_a_report_of_no_judged_page_is_left_out(tmp_path: Path) -> None:
    folder = write(tmp_path, PAGES, [{"_id": "q", "text": "?"}], "q\tX/p7\t1\n")
    thin = read_report_set(folder, distractors=0).reports
    assert [(report.sha1, [found.page for found in report.pages]) for report in thin] == [("X", [7])]


def test_blank_lines_are_passed_over_and_bad_ones_counted_with_them(tmp_path: Path) -> None:
    folder = write(tmp_path, PAGES, [{"_id": "q", "text": "?"}], "q\tX/p7\t1\n")
    queries = folder / "queries.jsonl"
    queries.write_text('{"_id": "q", "text": "?"}\n\n  \n')
    assert len(read_report_set(folder).queries) == 1
    queries.write_text('{"_id": "q", "text": "?"}\n\n[1]\n')
    with pytest.raises(BadSet, match="queries, line 3: it and its metadata must be objects"):
        read_report_set(folder)


BAD_QRELS = ["query\tdocument\tgrade\nq\ta\t1\n", "query-id\tcorpus-id\tscore\nq\ta\thigh\n"]


@pytest.mark.parametrize("text", BAD_QRELS)
def test_malformed_judgements_are_an_error_that_names_the_folder(tmp_path: Path, text: str) -> None:
    folder = write(tmp_path, PAGES, [{"_id": "q", "text": "?"}], "")
    (folder / "qrels.tsv").write_text(text)
    with pytest.raises(BadSet, match=tmp_path.name):
        read_report_set(folder)


def test_judgements_keep_every_grade(tmp_path: Path) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text("query-id\tcorpus-id\tscore\nq\ta\t2\nq\tb\t0\nr\ta\t1\n")
    assert read_qrels(path) == {"q": {"a": 2, "b": 0}, "r": {"a": 1}}


def test_a_sample_does_not_depend_on_the_order_of_the_file() -> None:
    queries = [SetQuery(f"q{n}", "?", {}) for n in range(30)]
    assert sample(queries, 7) == sample(queries[::-1], 7)
    assert sample(queries, None) == tuple(queries)
    assert len(sample(queries, 100)) == 30
