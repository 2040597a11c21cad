"""Arguments as hosts send them: null and blank for what is left out, JSON and numbers in strings."""

import json
from typing import Any

import pytest
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel

from querymill.agents.access import Access
from querymill.agents.loose import as_meant, document_as_meant
from querymill.agents.tools.ingesting import IngestArguments
from querymill.agents.tools.listing import ListArguments
from querymill.agents.tools.reading import ReadArguments
from querymill.agents.tools.search import SearchArguments
from querymill.testing import MemoryMill
from querymill_shared.contracts.files.ingest import SourceFile
from querymill_shared.contracts.reports.ingest import Report
from querymill_shared.contracts.sessions import ChatSession
from tests.fakes.access import MemoryAccess
from tests.unit.producers.agents.test_tools import REPORTS, call


class Listing(BaseModel):
    """What no tool takes now: lists of texts and of numbers, and any value."""

    names: list[str]
    sizes: list[int] = []
    some: list[str] | None = None
    any: Any = None


MEANT: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
    (SearchArguments, {"limit": "3"}, {"limit": 3}),
    (SearchArguments, {"limit": '"3"'}, {"limit": 3}),
    (SearchArguments, {"filter": '{"company":"Nordhav"}'}, {"filter": {"company": "Nordhav"}}),
    (SearchArguments, {"filter": json.dumps('{"company":"Nordhav"}')}, {"filter": {"company": "Nordhav"}}),
    (SearchArguments, {"filter": {"title": '{"a": 1}', "company": None}},
     {"filter": {"title": '{"a": 1}', "company": None}}),
    (SearchArguments, {"limit": None, "filter": None, "since": None, "kind": None}, {}),
    (SearchArguments, {"limit": "", "filter": " ", "since": "", "kind": "", "collection": ""}, {}),
    (SearchArguments, {"filter": "null", "limit": "null", "kind": "null"}, {}),
    (SearchArguments, {"query": "null"}, {"query": "null"}),
    (SearchArguments, {"query": '{"a": 1}'}, {"query": '{"a": 1}'}),
    (SearchArguments, {"query": " "}, {"query": " "}),
    (SearchArguments, {"query": None}, {}),
    (SearchArguments, {"query": 2024, "since": 2024}, {"query": "2024", "since": "2024"}),
    (SearchArguments, {"kind": "reports"}, {"kind": "reports"}),
    (SearchArguments, {"limit": "many", "filter": "[1]"}, {"limit": "many", "filter": "[1]"}),
    (SearchArguments, {"filter": [1]}, {"filter": [1]}),
    (SearchArguments, {"limit": "true", "max_tokens": "{}"}, {"limit": "true", "max_tokens": "{}"}),
    (SearchArguments, {"surplus": None, "other": 1}, {}),
    (SearchArguments, {"limit": "5.0", "max_tokens": " 500 "}, {"limit": 5.0, "max_tokens": 500}),
    (SearchArguments, {"limit": "None", "since": "null", "collection": "undefined", "cursor": "None"}, {}),
    (SearchArguments, {"filter": []}, {"filter": {}}),
    (SearchArguments, {"filter": "[]"}, {"filter": {}}),
    (SearchArguments, {"filter": {"title": "null"}}, {"filter": {"title": "null"}}),
    (ListArguments, {"of": None, "limit": "5", "cursor": 20}, {"limit": 5, "cursor": "20"}),
    (ListArguments, {"of": "collections", "filter": "{}"}, {"of": "collections", "filter": {}}),
    (ReadArguments, {"id": "a", "around": "3", "part": 41}, {"id": "a", "around": 3, "part": "41"}),
    (ReadArguments, {"id": "a", "around": None, "part": 41.0}, {"id": "a", "part": "41"}),
    (IngestArguments, {"documents": '[{"path": "a"}]', "vectors": "true"},
     {"documents": [{"path": "a"}], "vectors": True}),
    (IngestArguments, {"documents": ['{"path": "a"}', {"path": "b"}]}, {"documents": [{"path": "a"}, {"path": "b"}]}),
    (IngestArguments, {"documents": {"path": "a"}, "vectors": None}, {"documents": [{"path": "a"}]}),
    (IngestArguments, {"documents": '{"path": "a"}', "vectors": ""}, {"documents": [{"path": "a"}]}),
    (IngestArguments, {"documents": [], "vectors": "True"}, {"documents": [], "vectors": "True"}),
    (Listing, {"names": "a, b,,c", "sizes": "[1, 2]"}, {"names": ["a", "b", "c"], "sizes": [1, 2]}),
    (Listing, {"names": "a", "sizes": "1, 2"}, {"names": ["a"], "sizes": "1, 2"}),
    (Listing, {"names": '["a, b"]', "sizes": None}, {"names": ["a, b"]}),
    (Listing, {"names": json.dumps('["a"]'), "some": "1,2"}, {"names": ["a"], "some": ["1", "2"]}),
    (Listing, {"names": [], "any": "a, b"}, {"names": [], "any": "a, b"}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "written", "meant"), MEANT, ids=[str(written)[:50] for _, written, _ in MEANT])
def test_arguments_are_read_as_they_are_meant(tool: Any, written: dict[str, Any], meant: dict[str, Any]) -> None:
    assert as_meant(written, tool) == meant


def test_documents_keep_their_texts_and_lose_what_is_null() -> None:
    package = '{"name": "mill"}'
    assert document_as_meant({"path": "package.json", "content": package}, SourceFile)["content"] == package
    assert document_as_meant({"path": "a", "content": ""}, SourceFile) == {"path": "a", "content": ""}
    report = {"sha1": "a", "title": None, "pages": '[{"page": "1", "text": "[1, 2]"}]', "author": None}
    assert document_as_meant(report, Report) == {
        "sha1": "a", "pages": [{"page": 1, "text": "[1, 2]"}], "author": None,
    }  # fmt: skip
    session = {"session_id": 7, "messages": [{"role": "user", "text": "", "created_at": None}]}
    assert document_as_meant(session, ChatSession) == {
        "session_id": "7", "messages": [{"role": "user", "text": ""}],
    }  # fmt: skip


@pytest.fixture(scope="module")
def access() -> Any:
    with MemoryMill() as mill:
        access = MemoryAccess(mill)
        written = {"collection": "filings", "kind": "reports", "documents": json.dumps(REPORTS), "vectors": None}
        assert not call(access, "ingest", **written).is_error
        yield access


@pytest.mark.parametrize(
    "arguments",
    [
        {"limit": "3"}, {"filter": '{"company":"Nordhav"}'}, {"filter": ""}, {"limit": 3.0}, {"kind": ""},
        {"since": ""}, {"kind": "reports", "collection": "filings", "max_tokens": "500"},
        {"limit": None, "filter": None, "since": None, "kind": None, "collection": None, "cursor": None},
    ],
)  # fmt: skip
def test_every_host_finds_what_it_searches(access: Access, arguments: dict[str, Any]) -> None:
    result = call(access, "search", query="ships", **arguments)
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert not result.is_error, content.text
    assert "reports:filings/a1" in content.text


@pytest.mark.parametrize("vectors", ["True", "TRUE", "yes", "1", 1, 1.0, "false", False, 0])
def test_truth_values_are_read(vectors: Any) -> None:
    written = {"collection": "a", "kind": "files", "documents": [{}], "vectors": vectors}
    read = IngestArguments.model_validate(as_meant(written, IngestArguments))
    assert read.vectors is (str(vectors).lower() not in {"false", "0"})


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def test_what_is_no_argument_is_left_out_and_named(access: Access) -> None:
    result = call(access, "search", query="ships", extra=1, filters={"company": "x"}, other=None)
    assert not result.is_error
    assert "reports:filings/a1" in text_of(result)
    assert text_of(result).endswith("search has no 'extra', 'filters': left out.")


def test_what_breaks_a_rule_is_still_refused(access: Access) -> None:
    result = call(access, "search", query="ships", limit="many")
    assert result.is_error
    assert "limit:" in text_of(result)


def test_a_null_beside_conditions_is_left_out_and_named(access: Access) -> None:
    found = text_of(call(access, "search", query="ships", filter={"company": "Nordhav", "period": None, "title": None}))
    assert "reports:filings/a1" in found
    assert "Left out of the filter: period, title (null beside other conditions)." in found
    listed = text_of(call(access, "list", of="reports", filter='{"period": null, "company": "Nordhav"}'))
    assert "reports:filings/a1" in listed
    assert "Left out of the filter: period" in listed
    absent = text_of(call(access, "list", of="reports", filter={"company": None}))
    assert absent.startswith("0 of 0 reports")
    assert "Left out" not in absent


@pytest.mark.parametrize(
    ("since", "until"),
    [
        ("2023", "2023"), (2023, 2023), ("2023-03", "2023-03"), ("2023/03/01", "2023-03-01"), ("20230301", 20230301),
        ("2023-03-01T00:00:00Z", "2023-03-01T23:59:59.999Z"), ("2023-W09", "2023-W09-3"), ("2023-060", "2023.03.01"),
        ("2023-3-1", "2023-03-01 12:00 UTC"), ("2023-03-01t00:00:00z", None), (None, "2023-03"),
    ],
)  # fmt: skip
def test_dates_are_read_in_every_form(access: Access, since: Any, until: Any) -> None:
    found = text_of(call(access, "search", query="ships", since=since, until=until))
    assert "reports:filings/a1" in found, found
    span = {name: value for name, value in (("from", since), ("to", until)) if value is not None} | {"prefix": None}
    filtered = text_of(call(access, "list", of="reports", filter={"published_at": span}))
    assert "reports:filings/a1" in filtered, filtered


def test_what_is_no_date_says_what_one_is(access: Access) -> None:
    result = call(access, "search", query="ships", since="last spring")
    assert result.is_error
    assert "as in ISO 8601, such as 2026-03-31" in text_of(result)
    assert "reports:filings/a1" not in text_of(call(access, "search", query="ships", since="2023-04"))
    assert "reports:filings/a1" not in text_of(call(access, "list", of="reports", filter={"published_at": "2022"}))
