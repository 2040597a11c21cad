"""What the jobs of conversations may be asked with."""

from datetime import UTC, datetime, timedelta
from typing import Literal

import pytest
from pydantic import ValidationError

from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.conversations.ranks import RankList, RecomputeRanks
from querymill_shared.contracts.conversations.search import ConversationSearch, zone_named
from querymill_shared.contracts.fields import Request
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


MESSAGE = {"message_id": "a", "text": "x"}
SESSION = {"session_id": "s", "started_at": "2026-01-01T00:00:00Z", "messages": [MESSAGE]}


@pytest.mark.parametrize(
    ("scope", "parts", "steps"),
    [("all", 1, ("part-0",)), ("all", 3, ("part-0", "part-1", "part-2")), ("changed", 3, ("update",))],
)
def test_a_rebuild_has_a_step_for_each_part_and_an_update_has_one(
    scope: Literal["changed", "all"], parts: int, steps: tuple[str, ...]
) -> None:
    assert RecomputeRanks(collection="c", scope=scope, parts=parts).steps == steps


@pytest.mark.parametrize(
    ("type_", "fields", "field"),
    [
        (RecomputeRanks, {"parts": 0}, "parts"),
        (RecomputeRanks, {"parts": 65}, "parts"),
        (RecomputeRanks, {"scope": "some"}, "scope"),
        (RecomputeRanks, {"mode": "sum"}, "mode"),
        (RecomputeRanks, {"deadline": 5}, "deadline"),
        (RankList, {"limit": 0}, "limit"),
        (RankList, {"limit": 201}, "limit"),
        (RankList, {"now": "soon"}, "now"),
        (IngestConversations, {"documents": [SESSION | {"messages": []}]}, "messages"),
        (
            IngestConversations,
            {"documents": [SESSION | {"messages": [MESSAGE, MESSAGE]}]},
            "message_id must occur once",
        ),
        (IngestConversations, {"documents": [SESSION | {"started_at": None}]}, "started_at"),
    ],
)
def test_bad_input_of_the_other_requests_names_its_field_too(
    type_: type[Request], fields: dict[str, object], field: str
) -> None:
    with pytest.raises(ValidationError, match=field):
        type_.model_validate({"collection": "c"} | fields)


def test_a_zone_is_known_by_its_name_and_utc_needs_no_list_of_zones() -> None:
    assert zone_named("UTC") is UTC
    assert zone_named("Asia/Shanghai").utcoffset(datetime(2026, 1, 1)) == timedelta(hours=8)  # noqa: DTZ001
    with pytest.raises(ValueError, match="'Middle/Earth' is not a known time zone"):
        zone_named("Middle/Earth")
