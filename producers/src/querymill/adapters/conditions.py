"""The filters of other libraries as a filter of Querymill: conditions that must all hold, by the name of a field."""

from collections.abc import Iterable
from datetime import date
from typing import Any


def conditions_of(comparisons: Iterable[tuple[str, str, Any]]) -> dict[str, Any]:
    """Return the filter that asks for all of these comparisons.

    Args:
        comparisons: The name of a field, an operator as LlamaIndex and Haystack write it, and a value.

    Raises:
        ValueError: Querymill has no such condition, or a field has two that are not the ends of one range.
    """
    conditions: dict[str, Any] = {}
    for name, operator, value in comparisons:
        condition = _condition(name, operator, value)
        if name in conditions:
            condition = _range(name, conditions[name], condition)
        conditions[name] = condition
    return conditions


def _condition(name: str, operator: str, value: Any) -> Any:
    match operator, _plain(value):
        case (("==" | "contains"), (str() | int() | float() | None) as wanted):
            return wanted
        case (("in" | "any"), list(wanted)):
            return wanted
        case ">=", (str() | int() | float()) as least:
            return {"from": least}
        case "<=", (str() | int() | float()) as most:
            return {"to": most}
        case "is_empty", _:
            return None
        case (("==" | "in" | ">=" | "<=" | "contains" | "any"), _):
            raise ValueError(f"{name}: {operator!r} cannot compare with a value of type {type(value).__name__}")
        case _:
            raise ValueError(f"{name}: operator {operator!r} is not supported; use '==', 'in', '>=' or '<='")


def _plain(value: Any) -> Any:
    """Return times and days as text, and any sequence as a list."""
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value


def _range(name: str, first: Any, second: Any) -> dict[str, Any]:
    ends = (first, second)
    if not all(isinstance(end, dict) for end in ends) or first.keys() & second.keys():
        raise ValueError(f"{name}: has several conditions; only the two ends of a range can be joined")
    return {**first, **second}
