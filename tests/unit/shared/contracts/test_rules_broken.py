"""A broken rule is told in the words of JSON, which callers write, not of Python."""

import pytest
from pydantic import ValidationError

from querymill_shared.contracts.errors import rule_text
from querymill_shared.contracts.reports.ingest import Report
from querymill_shared.contracts.sessions import ChatSession

PAGE = {"page": 1, "text": "x"}


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ({"pages": "none"}, "Input should be a valid list"),
        ({"pages": {}}, "Input should be a valid list"),
        ({"pages": ["none"]}, "Input should be an object"),
        ({}, "Field required"),
    ],
)
def test_a_report_that_breaks_a_rule(written: dict[str, object], rule: str) -> None:
    with pytest.raises(ValidationError) as broken:
        Report.model_validate(written)
    assert rule_text(broken.value.errors()[0]) == rule


def test_an_empty_session() -> None:
    with pytest.raises(ValidationError) as broken:
        ChatSession.model_validate({"session_id": "s", "started_at": "2026-11-21", "messages": []})
    assert rule_text(broken.value.errors()[0]) == "List should have at least 1 item after validation, not 0"


def test_a_rule_of_ours_is_told_without_the_name_of_the_exception() -> None:
    with pytest.raises(ValidationError) as broken:
        Report.model_validate({"pages": [PAGE, PAGE]})
    assert not rule_text(broken.value.errors()[0]).startswith("Value error")
