"""Filters: what passes, and which rules a condition can break."""

from datetime import UTC, date, datetime
from typing import Any, Literal

import pytest
from pydantic import ValidationError

from querymill_shared.contracts.filters import (
    MAX_CHARS,
    MAX_NAMES,
    MAX_VALUES,
    Filterable,
    Filtered,
    passes,
)


class Find(Filtered):
    kind: Literal["messages"] = "messages"


class FindReports(Filtered):
    kind: Literal["reports"] = "reports"


MESSAGE = Filterable.of(
    {"team": "red", "tags": ["a", "b"], "score": 3, "flag": True, "gone": None, "nested": {"a": 1}, "none": []},
    user_name="Ada",
    session_id="7",
    role=("user", "assistant"),
    time=(datetime(2026, 3, 31, 12, tzinfo=UTC), datetime(2026, 4, 2, tzinfo=UTC)),
)


@pytest.mark.parametrize(
    "conditions",
    [
        {},
        {"user_name": "Ada"},
        {"session_id": 7},
        {"session_id": [6, 7]},
        {"role": "assistant"},
        {"time": "2026-03-31"},
        {"time": {"to": "2026-03-31"}},
        {"time": {"from": "2026-04-01T02:00:00+02:00"}},
        {"team": ["blue", "red"]},
        {"tags": "b"},
        {"tags": {"from": "b"}},
        {"score": 3.0},
        {"score": {"from": 2.5, "to": 3}},
        {"flag": True},
        {"user_name": {"prefix": "A"}},
        {"gone": None},
        {"never": None},
        {"team": "red", "score": {"to": 3}},
    ],
)
def test_a_document_passes(conditions: dict[str, Any]) -> None:
    Find(collection="c", filter=conditions)
    assert passes(conditions, MESSAGE)


@pytest.mark.parametrize(
    "conditions",
    [
        {"user_name": "ada"},
        {"user_name": None},
        {"time": "2026-04-01"},
        {"time": {"from": "2026-04-03"}},
        {"score": "3"},
        {"flag": 1},
        {"tags": None},
        {"none": None},
        {"none": "a"},
        {"nested": "a"},
        {"never": {"prefix": ""}},
        {"team": "red", "score": 4},
    ],
)
def test_a_document_does_not_pass(conditions: dict[str, Any]) -> None:
    Find(collection="c", filter=conditions)
    assert not passes(conditions, MESSAGE)


@pytest.mark.parametrize(
    ("conditions", "rule"),
    [
        ({"team": {}}, "must be a value"),
        ({"team": {"from": 1, "until": 2}}, "must be a value"),
        ({"team": {"prefix": 3}}, "must be a value"),
        ({"team": []}, f"1 to {MAX_VALUES} values"),
        ({"team": ["x"] * (MAX_VALUES + 1)}, f"1 to {MAX_VALUES} values"),
        ({"team": ["x", None]}, "a text, a number, true or false"),
        ({"team": "x" * (MAX_CHARS + 1)}, f"at most {MAX_CHARS} characters"),
        ({"team": "a\x00"}, "NUL"),
        ({"team": "\ud800"}, "surrogate"),
        ({"score": float("inf")}, "finite"),
        ({"score": 10**400}, "finite"),
        ({"score": {"from": 1, "to": "b"}}, "both must be texts or both numbers"),
        ({"flag": {"from": True}}, "both must be texts or both numbers"),
        ({"user_name": 1.5}, "texts"),
        ({"user_name": [True]}, "texts"),
        ({"time": "soon"}, "a time or a day as in ISO 8601"),
        ({"time": {"prefix": "2026"}}, "give a range"),
        ({"": "x"}, "blank"),
        ({f"name{number}": 1 for number in range(MAX_NAMES + 1)}, f"at most {MAX_NAMES} items"),
    ],
)
def test_a_broken_rule_is_named_with_its_field(conditions: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValidationError, match="filter") as raised:
        Find(collection="c", filter=conditions)
    assert rule in str(raised.value)
    (first, *_) = conditions
    assert first in str(raised.value) or len(conditions) > MAX_NAMES


def test_a_day_is_wanted_of_reports() -> None:
    assert FindReports(collection="c", filter={"published_at": {"from": "2026-01-01"}})
    with pytest.raises(ValidationError, match="published_at: must be a day"):
        FindReports(collection="c", filter={"published_at": "2026-01-01T10:00:00"})
    paper = Filterable.of({}, published_at=date(2026, 1, 1))
    assert passes({"published_at": {"from": "2026-01-01", "to": "2026-01-31"}}, paper)
    assert not passes({"published_at": "2026-01-02"}, paper)


def test_numbers_are_compared_as_json_writes_them() -> None:
    assert passes({"n": 10**23}, Filterable.of({"n": 1e23}))
    assert not passes({"n": 2**53}, Filterable.of({"n": 2**53 + 1}))


def test_a_filter_is_read_as_it_was_written() -> None:
    filtered = Find(collection="c", filter={"user_name": "Ada"})
    assert Find.model_validate_json(filtered.model_dump_json()) == filtered
