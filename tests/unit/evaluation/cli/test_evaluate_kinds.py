"""What each kind makes of a set: what is ingested and asked, and how a result is scored."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pydantic
import pytest

from querymill.cli.exits import WrongUse
from querymill_evaluation.cli.evaluate_files import prepare_files
from querymill_evaluation.cli.evaluate_kinds import (
    Evaluation,
    Sample,
    prepare_conversations,
    prepare_messages,
    prepare_modules,
    prepare_reports,
    score_by_rank,
)
from querymill_evaluation.cli.measuring import KINDS
from querymill_evaluation.sets import BadSet
from querymill_shared.contracts.conversations.search import ConversationSearch
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_shared.contracts.reports.search import ReportSearch
from tests.fixtures.evaluation_sets import write_set


@pytest.fixture
def filings(tmp_path: Path) -> Path:
    def page(report: str, number: int) -> dict[str, Any]:
        metadata = {"doc_name": report, "company": f"Company {report}", "year": 2022, "page": number}
        return {"_id": f"{report}/p{number}", "title": "", "text": f"page {number}", "metadata": metadata}

    asked = {"_id": "q", "text": "profit?", "metadata": {"company": "Company X", "year": 2022, "doc_name": "X"}}
    corpus = [page("X", number) for number in range(4)] + [page("Y", 0)]
    return write_set(tmp_path / "filings", corpus=corpus, queries=[asked], qrels={"q": {"X/p2": 1}})


@pytest.fixture
def code(tmp_path: Path) -> Path:
    def example(number: int) -> dict[str, Any]:
        meta_info = {"vtkjs_modules": ["vtkActor"], "description": "d"}
        document = {"faiss_id": number, "file_path": f"{number}.js", "code": "x", "meta_info": meta_info}
        return {"_id": f"{number}.js", "title": "", "text": "x", "metadata": document}

    parts = [{"description": "use vtkActor", "weight": 8}]
    queries = [
        {"_id": "plain", "text": "an actor", "metadata": {"kind": "plain"}},
        {"_id": "split", "text": "an actor", "metadata": {"kind": "split", "query_list": parts}},
    ]
    judged = {"plain": {"0.js": 1}, "split": {"1.js": 1}}
    return write_set(tmp_path / "code", corpus=[example(0), example(1)], queries=queries, qrels=judged)


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    def message(name: str, session: str) -> dict[str, Any]:
        return {"_id": name, "text": f"text of {name}", "metadata": {"session_id": session}}

    asked = {"_id": "q", "text": "harbour?", "metadata": {"session_id": "s", "exclude_message_id": "a"}}
    corpus = [message("a", "s"), message("b", "s"), message("c", "t")]
    return write_set(tmp_path / "chats", corpus=corpus, queries=[asked], qrels={"q": {"b": 1}})


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    def talk(name: str, repo: str) -> dict[str, Any]:
        metadata = {"repo": repo, "started_at": "2026-01-01T10:00:00", "messages": [{"role": "user", "text": name}]}
        return {"_id": name, "title": name, "text": name, "metadata": metadata}

    asked = {"_id": "q", "text": "a?", "metadata": {"repo": "us/one", "recent_sessions": ["b"]}}
    corpus = [talk("a", "us/one"), talk("b", "us/two")]
    return write_set(tmp_path / "talks", corpus=corpus, queries=[asked], qrels={"q": {"a": 1}})


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    def file(repo: str, path: str) -> dict[str, Any]:
        return {"_id": f"{repo}:{path}", "title": path, "text": "x = 1", "metadata": {"repo": repo, "path": path}}

    asked = {"_id": "q", "text": "find x", "metadata": {"repo": "us/a"}}
    corpus = [file("us/a", "x.py"), file("us/a", "y.py"), file("us/b", "x.py")]
    return write_set(tmp_path / "sources", corpus=corpus, queries=[asked], qrels={"q": {"us/a:x.py": 1}})


class Shape:
    """Fields of a result, for a function that reads these alone."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def requests(chosen: Evaluation) -> dict[str, Any]:
    return dict(chosen.requests)


def ids(chosen: Evaluation) -> dict[str, list[str]]:
    """Return the ids of the documents of each collection."""
    return {name: [one.document_id for one in documents] for name, documents in chosen.documents.items()}


def test_there_is_a_way_to_measure_every_kind_that_is_searched() -> None:
    assert set(KINDS) == {"reports", "modules", "messages", "conversations", "files"}


def test_reports_are_ingested_whole_and_their_pages_are_judged(filings: Path) -> None:
    chosen = prepare_reports(filings, {}, Sample())
    assert ids(chosen) == {"filings": ["X", "Y"]}
    (parcel,) = chosen.parcels()
    assert [(line.number, line.size) for line in parcel.lines] == [
        (number, len(line.document.model_dump_json())) for number, line in enumerate(parcel.lines, start=1)
    ]
    request = requests(chosen)["q"]
    assert isinstance(request, ReportSearch)
    assert (request.company, request.period, request.return_parent_pages) == ("Company X", "2022", True)
    hits = [Shape(document="X", page=3), Shape(document="X", page=2)]
    assert chosen.scores(Shape(results=hits)) == {"X/p3": 1.0, "X/p2": 0.5}
    assert chosen.figures("q", Shape()) == {}


def test_reports_are_routed_as_the_option_says_and_other_options_are_fields(filings: Path) -> None:
    request = requests(prepare_reports(filings, {"routing": "documents", "top_n": 3}, Sample()))["q"]
    assert (request.documents, request.company, request.top_n) == (("X",), None, 3)
    with pytest.raises(WrongUse, match="--option routing: 'company' is not one of: documents, given, question"):
        prepare_reports(filings, {"routing": "company"}, Sample())


def test_distractors_leave_the_judged_pages_in(filings: Path) -> None:
    chosen = prepare_reports(filings, {}, Sample(distractors=1))
    pages = {report.sha1: [page.page for page in report.pages] for report in chosen.documents["filings"]}
    assert len(pages["X"]) == 2
    assert 2 in pages["X"]


def test_modules_are_asked_with_their_parts_and_grouped_by_the_kind_of_query(code: Path) -> None:
    chosen = prepare_modules(code, {"lexicon": False}, Sample())
    asked = requests(chosen)
    assert isinstance(asked["plain"], ModuleSearch)
    assert asked["plain"].sub_queries == ()
    assert [part.description for part in asked["split"].sub_queries] == ["use vtkActor"]
    assert (asked["split"].top_k, asked["split"].lexicon) == (10, False)
    assert chosen.groups == {"plain": "plain", "split": "split"}
    assert chosen.scores(Shape(results=[Shape(document=1), Shape(document=0)])) == {"1.js": 1.0, "0.js": 0.5}


def test_messages_are_asked_in_their_session_without_a_threshold(chats: Path) -> None:
    chosen = prepare_messages(chats, {"hybrid": True}, Sample())
    assert ids(chosen) == {"chats": ["s", "t"]}
    request = requests(chosen)["q"]
    assert isinstance(request, MessageSearch)
    assert (request.session_id, request.exclude_message_id, request.similarity_threshold) == ("s", "a", None)
    assert (request.limit, request.hybrid) == (20, True)


def test_a_message_and_its_context_count_once_at_the_better_rank(chats: Path) -> None:
    chosen = prepare_messages(chats, {}, Sample())
    hits = [Shape(message_id=name) for name in ("b", None, "a", "b")]
    assert chosen.scores(Shape(results=hits)) == {"b": 1.0, "a": 0.5}


def test_a_session_limit_keeps_the_first_sessions_and_the_queries_about_them(chats: Path) -> None:
    chosen = prepare_messages(chats, {}, Sample(sessions=1))
    assert (ids(chosen), len(chosen.requests)) == ({"chats": ["s"]}, 1)


def test_conversations_of_each_repository_are_a_collection_and_lists_are_not_diversified(talks: Path) -> None:
    chosen = prepare_conversations(talks, {}, Sample())
    assert [parcel.request.collection for parcel in chosen.parcels()] == ["talks.us.one", "talks.us.two"]
    request = requests(chosen)["q"]
    assert isinstance(request, ConversationSearch)
    assert (request.collection, request.diversify, request.recent_sessions) == ("talks.us.one", False, ("b",))
    assert chosen.scores(Shape(results=[Shape(session_id="a")])) == {"a": 1.0}


def test_files_of_each_repository_are_a_collection_and_grouped_by_it(sources: Path) -> None:
    chosen = prepare_files(sources, {"mode": "oneshot"}, Sample())
    assert ids(chosen) == {"sources-us-a": ["x.py", "y.py"], "sources-us-b": ["x.py"]}
    request = requests(chosen)["q"]
    assert isinstance(request, FileSearch)
    assert (request.collection, request.mode, request.deadline) == ("sources-us-a", "oneshot", 120)
    assert chosen.groups == {"q": "us/a"}


def test_files_are_also_measured_by_what_is_returned_and_pasted(sources: Path) -> None:
    chosen = prepare_files(sources, {}, Sample())
    account = pydantic.create_model("Account", spent=(int, 7))()
    result = Shape(
        collection="sources-us-a",
        results=[Shape(path="y.py", band="medium"), Shape(path="x.py", band="high")],
        context_files=("y.py",), files_read=2, rounds=(1, 2), token_account=account,
    )  # fmt: skip
    assert chosen.scores(result) == {"us/a:y.py": 1.0, "us/a:x.py": 0.5}
    assert chosen.figures("q", result) == {
        "recall_of_returned": 1.0, "recall_of_context": 0.0, "returned": 2, "high": 1, "files_read": 2, "rounds": 2,
        "tokens_spent": 7,
    }  # fmt: skip


Prepare = Callable[[Path, Mapping[str, Any], Sample], Evaluation]
NOT_FOR: list[tuple[Prepare, Sample, str]] = [
    (prepare_reports, Sample(sessions=1), "sessions"),
    (prepare_modules, Sample(distractors=0), "distractors"),
    (prepare_modules, Sample(sessions=1), "sessions"),
    (prepare_messages, Sample(distractors=0), "distractors"),
    (prepare_conversations, Sample(distractors=1), "distractors"),
    (prepare_files, Sample(distractors=1), "distractors"),
    (prepare_files, Sample(sessions=1), "sessions"),
]


@pytest.mark.parametrize(("prepare", "sample", "name"), NOT_FOR)
def test_a_limit_that_a_kind_does_not_have_is_refused(
    tmp_path: Path, prepare: Prepare, sample: Sample, name: str
) -> None:
    with pytest.raises(WrongUse, match=f"--{name}: not for this kind"):
        prepare(tmp_path, {}, sample)


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_that_is_no_set_is_refused_by_every_kind(tmp_path: Path, kind: str) -> None:
    with pytest.raises(BadSet, match=str(tmp_path)):
        KINDS[kind](tmp_path, {}, Sample())


SETS = {"reports": "filings", "modules": "code", "messages": "chats", "conversations": "talks", "files": "sources"}


@pytest.mark.parametrize(("kind", "folder"), SETS.items())
def test_an_option_that_is_no_field_of_the_request_is_refused(
    request: pytest.FixtureRequest, kind: str, folder: str
) -> None:
    with pytest.raises(pydantic.ValidationError, match="no_such_field"):
        KINDS[kind](request.getfixturevalue(folder), {"no_such_field": 1}, Sample())


def test_ids_are_scored_by_their_rank() -> None:
    assert score_by_rank(["a", "b", "c"]) == {"a": 1.0, "b": 0.5, "c": pytest.approx(1 / 3)}
    assert score_by_rank([]) == {}
