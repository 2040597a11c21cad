"""What a search of conversations may be asked with."""

import pytest
from pydantic import ValidationError

from querymill_shared.contracts.conversations.search import ConversationSearch
from querymill_shared.contracts.jobs import decode_request


def test_a_request_survives_the_wire() -> None:
    request = ConversationSearch(collection="c", query="q", now="2026-01-01T00:00:00Z", recent_sessions=(1, "b"))  # type: ignore[arg-type]
    assert request.recent_sessions == ("1", "b")
    assert decode_request(request.model_dump_json()) == request


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("query", "  "),
        ("top_n", 0),
        ("top_n", 201),
        ("scoring", "sum"),
        ("rank_swing", 2.1),
        ("decay_swing", -0.1),
        ("context_cap", 0.9),
        ("time_zone", "Middle/Earth"),
        ("time_zone", "../etc/passwd"),
        ("now", "soon"),
        ("recent_sessions", ["a", "a"]),
        ("recent_sessions", ["s"] * 101),
        ("unknown", 1),
    ],
)
def test_bad_input_names_its_field(field: str, value: object) -> None:
    with pytest.raises(ValidationError, match=field):
        ConversationSearch.model_validate({"collection": "c", "query": "q", field: value})
