"""Fields nobody declared: what is kept of them, and what is refused."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from querymill_shared.contracts.described import line_of
from querymill_shared.contracts.files.ingest import SourceFile
from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_shared.contracts.reports.ingest import Report
from querymill_shared.contracts.sessions import ChatSession

SESSION = {"session_id": "s", "started_at": "2026-01-01T00:00:00Z", "messages": [{"text": "hello"}]}


def nested(levels: int) -> Any:
    found: Any = "x"
    for _ in range(levels):
        found = [found]
    return found


def test_nul_becomes_a_blank_wherever_it_stands() -> None:
    extra = {"no\x00te": "a\x00b", "tags": ["c\x00", {"d\x00": 1}]}
    session = ChatSession.model_validate(SESSION | extra | {"messages": [{"text": "hello", "mood": "\x00"}]})
    assert session.model_extra == {"no te": "a b", "tags": ["c ", {"d ": 1}]}
    assert session.messages[0].model_extra == {"mood": " "}


def test_what_can_be_kept_is_kept_as_it_is() -> None:
    extra = {"author": "Zoë 中", "tags": nested(32), "score": 0.5, "none": None, "yes": True, "big": 10**30}
    assert ChatSession.model_validate(SESSION | extra).model_extra == extra


def test_a_line_has_the_metadata_that_is_null_and_not_the_fields_that_are_missing() -> None:
    line = SESSION | {"note": None, "seen": {"by": None}, "messages": [{"text": "a", "mood": None}, {"text": "b"}]}
    session = ChatSession.model_validate(line)
    assert line_of(session) == line
    assert list(line_of(session))[-2:] == ["note", "seen"]
    assert ChatSession.model_validate(line_of(session)) == session


def test_pages_are_in_order_however_they_are_given() -> None:
    pages = [{"page": number, "text": f"page {number}"} for number in (7, 3, 10)]
    report = Report.model_validate({"sha1": "r", "title": "t", "pages": pages})
    assert [page.page for page in report.pages] == [3, 7, 10]


@pytest.mark.parametrize(
    ("extra", "rule"),
    [
        ({"note": "\ud800"}, "'note': must be valid Unicode"),
        ({"note": {"\udfff": 1}}, "'note': must be valid Unicode"),
        ({"tags": nested(40)}, "'tags': must not be nested deeper than 32 levels"),
        ({"score": float("nan")}, "'score': numbers must be finite"),
        ({"scores": [float("-inf")]}, "'scores': numbers must be finite"),
    ],
)
def test_what_no_store_could_hold_is_refused_by_the_name_of_its_field(extra: dict[str, Any], rule: str) -> None:
    report = {"sha1": "r", "title": "t", "company": "c", "pages": [{"page": 1, "text": "x"}]}
    module = {"file_path": "a.js", "code": "x", "meta_info": {"vtkjs_modules": ["vtkActor"]}}
    for contract, document in ((ChatSession, SESSION), (Report, report), (ModuleDocument, module)):
        with pytest.raises(ValidationError) as caught:
            contract.model_validate(document | extra)
        assert rule in caught.value.errors()[0]["msg"]


def test_a_file_with_a_time_of_python_has_the_hash_that_it_has_behind_the_wire() -> None:
    file = SourceFile.model_validate({"path": "a.py", "content": "x", "changed": datetime(2026, 1, 1, tzinfo=UTC)})
    assert SourceFile.model_validate_json(file.model_dump_json()).sha256 == file.sha256


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+08:00", "9999-12-31T23:59:59-08:00"])
def test_a_time_beyond_the_years_there_are_is_refused(moment: str) -> None:
    with pytest.raises(ValidationError, match="must lie in the years 1 to 9999"):
        ChatSession.model_validate(SESSION | {"started_at": moment})
