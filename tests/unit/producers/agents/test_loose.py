"""Arguments as hosts send them: null and blank for what is left out, JSON and numbers in strings."""

import json
from typing import Any

import pytest
from mcp_types import TextContent

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
    (SearchArguments, {"limit": "true", "max_tokens": "{}"}, {"limit": "true", "max_tokens": "{}"}),
    (SearchArguments, {"surplus": None}, {"surplus": None}),
    (ListArguments, {"of": None, "limit": "5", "cursor": 20}, {"limit": 5, "cursor": "20"}),
    (ListArguments, {"of": "collections", "filter": "{}"}, {"of": "collections", "filter": {}}),
    (ReadArguments, {"id": "a", "around": "3", "part": 41}, {"id": "a", "around": 3, "part": "41"}),
    (ReadArguments, {"id": "a", "around": None, "part": 41.0}, {"id": "a", "part": "41"}),
    (IngestArguments, {"documents": '[{"path": "a"}]', "vectors": "true"},
     {"documents": [{"path": "a"}], "vectors": True}),
    (IngestArguments, {"documents": ['{"path": "a"}', {"path": "b"}]}, {"documents": [{"path": "a"}, {"path": "b"}]}),
    (IngestArguments, {"documents": {"path": "a"}, "vectors": None}, {"documents": [{"path": "a"}]}),
    (IngestArguments, {"documents": '{"path": "a"}', "vectors": ""}, {"documents": [{"path": "a"}]}),
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


def test_what_is_no_argument_is_still_refused(access: Access) -> None:
    result = call(access, "search", query="ships", extra=1, limit="many")
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert result.is_error
    assert "extra: Extra inputs are not permitted" in content.text
    assert "limit:" in content.text
