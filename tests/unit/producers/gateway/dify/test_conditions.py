"""Dify's conditions on metadata: what the search checks, and what is left to be checked on its hits."""

from datetime import UTC, datetime
from typing import Any

import pytest

from querymill.gateway.dify.conditions import Conditions, conditions_of, filterable
from querymill.gateway.dify.shape import MetadataCondition
from querymill_shared.contracts.filters import Filterable, Retriever, fits


def comparing(*conditions: tuple[Any, str, Any], kind: Retriever = "reports", operator: str = "and") -> Conditions:
    names = ("name", "comparison_operator", "value")
    asked = MetadataCondition.model_validate({
        "logical_operator": operator,
        "conditions": [dict(zip(names, condition, strict=True)) for condition in conditions],
    })  # fmt: skip
    found = conditions_of(kind, asked)
    fits(found.filter, kind)
    return found


@pytest.mark.parametrize(
    ("condition", "filter_"),
    [
        (("category", "is", "AI"), {"category": ["AI"]}),
        (("year", "is", "2022"), {"year": ["2022", 2022]}),  # Dify sends numbers as texts
        (("year", "=", 2022), {"year": ["2022", 2022]}),
        (("company", "is", "2022"), {"company": ["2022"]}),  # the field holds texts
        (("tag", "in", ["a", "b"]), {"tag": ["a", "b"]}),
        (("path", "start with", "src/"), {"path": {"prefix": "src/"}}),
        (("tag", "empty", None), {"tag": None}),
        (("year", "≥", "2021"), {"year": {"from": 2021}}),
        (("period", "≤", 2021), {"period": {"to": "2021"}}),
        (("published_at", "before", "2024-01-01"), {"published_at": {"to": "2023-12-31"}}),
        (("published_at", "after", "2024-01-01"), {"published_at": {"from": "2024-01-02"}}),
    ],
)
def test_what_a_filter_can_say_is_left_to_the_search(condition: tuple[Any, str, Any], filter_: dict[str, Any]) -> None:
    assert comparing(condition) == Conditions(filter_)


def test_the_ends_of_a_range_are_one_condition() -> None:
    found = comparing(("year", "≥", 2020), ("year", "≤", 2022), ("published_at", "after", "2021-12-31"))
    assert found == Conditions({"year": {"from": 2020, "to": 2022}, "published_at": {"from": "2022-01-01"}})


def holds(conditions: Conditions, **metadata: Any) -> bool:
    return conditions.are_met(Filterable({}, metadata))


def test_what_a_filter_cannot_say_is_checked_on_the_hits() -> None:
    assert holds(comparing(("tag", "contains", "AI")), tag=["old", "AI and law"])
    assert not holds(comparing(("tag", "contains", "AI")), tag="law")
    assert holds(comparing(("tag", "not contains", "AI")), tag="law")
    assert not holds(comparing(("tag", "not contains", "AI")), tag="AI")
    assert holds(comparing(("name", "end with", ".pdf")), name="a.pdf")
    assert not holds(comparing(("name", "end with", ".pdf")), name="a.txt")
    assert not holds(comparing(("year", "is not", "2022")), year=2022)
    assert holds(comparing(("year", "≠", 2022)), year=2021)
    assert not holds(comparing(("tag", "not in", ["a", "b"])), tag="b")
    assert not holds(comparing(("tag", "not empty", None)))


def test_an_open_end_narrows_the_search_and_is_checked_on_the_hits() -> None:
    found = comparing(("year", ">", 2021))
    assert found.filter == {"year": {"from": 2021}}
    assert (holds(found, year=2021), holds(found, year=2022)) == (False, True)
    found = comparing(("day", "before", "2024-01-02"))
    assert (holds(found, day="2024-01-02"), holds(found, day="2024-01-01")) == (False, True)


def test_one_of_several_names_or_conditions_is_enough() -> None:
    named = comparing((["category", "tag"], "is", "AI"))
    assert (named.filter, holds(named, tag="AI"), holds(named, tag="law")) == ({}, True, False)
    either = comparing(("year", "is", 2021), ("tag", "contains", "AI"), operator="or")
    assert (either.filter, holds(either, tag="AI"), holds(either, year=2021), holds(either, year=2022)) == (
        {}, True, True, False,
    )  # fmt: skip


def test_a_field_of_the_kind_is_checked_as_its_hits_show_it() -> None:
    class Hit:
        user_name, message_role, session_id, created_at = "Ana", "user", "s1", datetime(2024, 1, 2, 9, tzinfo=UTC)
        metadata = None

    hit = filterable("messages", Hit())
    assert comparing(("time", "after", "2024-01-01T12:00"), kind="messages").are_met(hit)
    assert not comparing(("user_name", "not contains", "An"), kind="messages").are_met(hit)


def test_no_conditions_are_met_by_all() -> None:
    assert conditions_of("reports", None) == conditions_of("reports", MetadataCondition()) == Conditions()


@pytest.mark.parametrize(
    ("condition", "kind", "said"),
    [
        (("published_at", "is not", "2024-01-01"), "reports", "published_at: hits of reports do not show it"),
        (("language", "contains", "py"), "files", "language: hits of files do not show it"),
        (("team", "contains", "web"), "files", "team: hits of files do not show it"),
        (("year", ">", "soon"), "reports", "year: '>' compares with a number"),
        (("year", ">", ["1"]), "reports", "year: '>' compares with one value"),
        (("tag", "is", None), "reports", "tag: 'is' needs a value"),
        (("tag", "contains", ["a"]), "reports", "tag: 'contains' compares with one text"),
    ],
)
def test_what_cannot_be_checked_is_refused(condition: tuple[Any, str, Any], kind: Retriever, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        comparing(condition, kind=kind)
