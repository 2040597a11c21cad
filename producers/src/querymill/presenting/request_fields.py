"""The fields of a request as its JSON schema has them, for a form or a command in which people fill them in."""

from collections.abc import Mapping
from typing import Any, TypeVar

from querymill_shared.contracts.fields import AnyRequest

R = TypeVar("R", bound=AnyRequest)


def resolved(about: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a field without references and without null as an alternative."""
    found = dict(about)
    several = found.pop("anyOf", [])
    options = [part for part in several if part.get("type") != "null"]
    if options:
        found = dict(options[0]) | found
    if "$ref" in found:
        found = dict(schema["$defs"][found.pop("$ref").rsplit("/", 1)[1]]) | found
    return found


def may_be_null(about: Mapping[str, Any]) -> bool:
    """Return whether a field may be null."""
    return any(part.get("type") == "null" for part in about.get("anyOf", ()))


def filled_in(asked: R, own: Mapping[str, Any]) -> R:
    """Return a request with what its caller has of its own, such as a locale, where it has such fields and leaves them.

    Args:
        asked: The request.
        own: Values by the names of fields, as the contract has them. None is no value.
    """
    given = asked.model_fields_set
    more = {
        name: value
        for name, value in own.items()
        if value is not None
        and name in type(asked).model_fields
        and (name not in given or getattr(asked, name) is None)
    }
    return asked.model_copy(update=more) if more else asked
