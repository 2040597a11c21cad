"""Filters as they are written on a command line: ``name=value`` and the like."""

import json
import re
from collections.abc import Container, Mapping, Sequence
from typing import Any, Final

from querymill_shared.contracts.filters import RESERVED, Retriever

#: A name, an operator, a value. The first operator ends the name.
_WRITTEN: Final = re.compile(r"(?P<name>[^=<>^]+)(?P<operator>\^=|>=|<=|=)(?P<value>.*)", re.DOTALL)
HELP: Final = "name=value, name>=from, name<=to, name^=prefix or name=null; a name given twice: either value"


class BadFilter(ValueError):
    """Raised when a condition cannot be read. Its text repeats the condition; ``rule`` does not."""

    def __init__(self, told: str, rule: str) -> None:
        super().__init__(f"filter: {told}")
        self.rule = rule


def read_filter(written: Sequence[str], retriever: Retriever | None) -> dict[str, Any]:
    """Read conditions, each as `HELP` says. A value that begins with { or [ is a condition as JSON.

    The values of a kind's own fields are texts, of any kind's if none is given. Elsewhere a number, true or false means
    that value or its text.

    Raises:
        BadFilter: One cannot be read, or two of one name cannot be joined; the message says which.
    """
    found: dict[str, Any] = {}
    for each in written:
        match = _WRITTEN.fullmatch(each)
        if match is None:
            raise BadFilter(f"{each!r} is not {HELP}", f"must be {HELP}")
        name = match["name"].strip()
        found[name] = _joined(found[name], match, retriever) if name in found else _condition(match, retriever)
    return found


def write_filter(conditions: Mapping[str, Any], retriever: Retriever | None) -> list[str]:
    """Write conditions so that `read_filter` returns them.

    >>> write_filter({"year": 2023, "title": {"prefix": "ACME"}, "company": "ACME"}, "reports")
    ['year=[2023]', 'title={"prefix": "ACME"}', 'company=ACME']
    """
    return [_written_condition(name, value, retriever) for name, value in conditions.items()]


def _written_condition(name: str, value: Any, retriever: Retriever | None) -> str:
    plain = f"{name}={value}" if isinstance(value, str) else f"{name}=null"
    if value is None or (isinstance(value, str) and _reads_as(plain, {name: value}, retriever)):
        return plain
    return f"{name}={json.dumps(value if isinstance(value, dict | list) else [value], ensure_ascii=False)}"


def _reads_as(written: str, meant: Mapping[str, Any], retriever: Retriever | None) -> bool:
    try:
        return read_filter([written], retriever) == meant
    except BadFilter:
        return False


def _own_fields(retriever: Retriever | None) -> Container[str]:
    return RESERVED[retriever] if retriever is not None else {name for fields in RESERVED.values() for name in fields}


def _condition(match: re.Match[str], retriever: Retriever | None) -> Any:
    value, is_text = match["value"], match["name"].strip() in _own_fields(retriever)
    match match["operator"]:
        case "^=":
            return {"prefix": value}
        case ">=":
            return {"from": value if is_text else _scalar(value)}
        case "<=":
            return {"to": value if is_text else _scalar(value)}
        case _:
            pass
    if value == "null":
        return None
    if value.startswith(("{", "[")):
        return _json(value)
    return value if is_text or _scalar(value) == value else [_scalar(value), value]


def _joined(before: Any, match: re.Match[str], retriever: Retriever | None) -> Any:
    more = _condition(match, retriever)
    if isinstance(before, dict) and isinstance(more, dict) and not before.keys() & more.keys():
        return before | more
    if before is None or more is None or isinstance(before, dict) or isinstance(more, dict):
        rule = "cannot be joined"
        raise BadFilter(f"the conditions on {match['name'].strip()!r} {rule}", f"the conditions on a name {rule}")
    return [*_listed(before), *_listed(more)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _scalar(written: str) -> Any:
    """Return a number, true or false, or the text itself."""
    try:
        value = json.loads(written, parse_constant=str)
    except ValueError:
        return written
    return value if isinstance(value, int | float) else written


def _json(written: str) -> Any:
    try:
        return json.loads(written)
    except (ValueError, RecursionError) as error:
        raise BadFilter(f"{written!r} is not JSON", "a value that begins with { or [ must be JSON") from error
