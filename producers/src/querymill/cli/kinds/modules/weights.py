"""The parts of a request with their weights, as the command line takes them."""

import re
from typing import Any

#: Any number, so that the contract can refuse those that are not a weight.
_WEIGHTED = re.compile(r"([-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+|nan|inf)):\s*(.+)", re.DOTALL | re.IGNORECASE)


def weighed(given: dict[str, Any], *, with_file: bool) -> dict[str, Any]:  # noqa: ARG001
    """Return the fields with the parts of the request read."""
    parts = given.get("sub_queries")
    return given if parts is None else given | {"sub_queries": [read_weight(part) for part in parts]}


def read_weight(part: str) -> str | dict[str, Any]:
    """Read a part of a request, and its weight if it has one.

    >>> read_weight("8: a cone")
    {'weight': 8.0, 'description': 'a cone'}
    >>> read_weight("a cone: red")
    'a cone: red'
    """
    found = _WEIGHTED.fullmatch(part)
    return part if found is None else {"weight": float(found[1]), "description": found[2]}
