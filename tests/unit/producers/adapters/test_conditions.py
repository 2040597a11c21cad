"""The filters of other libraries as a filter of Querymill."""

from datetime import UTC, date, datetime

import pytest

from querymill.adapters.conditions import conditions_of

UNDERSTOOD = [
    ([("company", "==", "Nordhav")], {"company": "Nordhav"}),
    ([("draft", "==", False)], {"draft": False}),
    ([("period", "==", None)], {"period": None}),
    ([("company", "in", ["Nordhav", "Borough"])], {"company": ["Nordhav", "Borough"]}),
    ([("tags", "any", ("a", "b"))], {"tags": ["a", "b"]}),
    ([("tags", "contains", "a")], {"tags": "a"}),
    ([("region", "is_empty", None)], {"region": None}),
    ([("year", ">=", 2021)], {"year": {"from": 2021}}),
    ([("year", ">=", 2021), ("year", "<=", 2023)], {"year": {"from": 2021, "to": 2023}}),
    ([("published_at", ">=", date(2021, 1, 31))], {"published_at": {"from": "2021-01-31"}}),
    ([("time", "<=", datetime(2021, 1, 31, 9, tzinfo=UTC))], {"time": {"to": "2021-01-31T09:00:00+00:00"}}),
    ([("a", "==", 1), ("b", "in", [2])], {"a": 1, "b": [2]}),
    ([], {}),
]


@pytest.mark.parametrize(("comparisons", "conditions"), UNDERSTOOD)
def test_comparisons_become_conditions(comparisons: list[tuple[str, str, object]], conditions: object) -> None:
    assert conditions_of(comparisons) == conditions


REFUSED = [
    ([("year", ">", 2021)], "year: operator '>' is not supported; use '==', 'in', '>=' or '<='"),
    ([("year", "!=", 2021)], "year: operator '!=' is not supported"),
    ([("year", "==", [2021])], "year: '==' cannot compare with a value of type list"),
    ([("year", ">=", None)], "year: '>=' cannot compare with a value of type NoneType"),
    ([("year", "in", "2021")], "year: 'in' cannot compare with a value of type str"),
    ([("year", "==", 1), ("year", "==", 2)], "year: has several conditions; only the two ends"),
    ([("year", ">=", 1), ("year", ">=", 2)], "year: has several conditions"),
]


@pytest.mark.parametrize(("comparisons", "said"), REFUSED)
def test_what_cannot_be_searched_with_is_refused(comparisons: list[tuple[str, str, object]], said: str) -> None:
    with pytest.raises(ValueError, match="year: ") as refused:
        conditions_of(comparisons)
    assert str(refused.value).startswith(said)
