"""Documents with extra fields.

Unknown fields are stored as metadata. Values that a store or JSON cannot represent are rejected.
"""

import math
from typing import Any, Final, Self

from pydantic import ConfigDict, model_validator

from querymill_shared.contracts.fields import Contract, without_nul

#: How deeply lists and objects may be nested in a metadata field.
MAX_DEPTH: Final = 32


class Described(Contract):
    """A document whose unknown fields are stored as metadata. As in every text, NUL characters become blanks."""

    model_config = ConfigDict(extra="allow")

    @model_validator(mode="after")
    def _check_metadata(self) -> Self:
        if extra := self.model_extra:
            storable = {_storable(name, "metadata", 0): _storable(value, name, 0) for name, value in extra.items()}
            extra.clear()
            extra.update(storable)
        return self


def line_of(document: Described) -> dict[str, Any]:
    """Return a document as a line of ingestion: without the fields that it lacks, but with metadata that is null."""
    line = document.model_dump(mode="json")
    _leave_out_missing(document, line)
    return line


def _leave_out_missing(document: Contract, line: dict[str, Any]) -> None:
    """Remove the fields that are None from what was written of a document and of its parts."""
    for name in type(document).model_fields.keys() & line.keys():
        value = getattr(document, name)
        if value is None:
            del line[name]
        parts, written = (value, line[name]) if isinstance(value, tuple) else ((value,), (line.get(name),))
        for part, of_part in zip(parts, written, strict=True):
            if isinstance(part, Contract):
                _leave_out_missing(part, of_part)


def _storable(value: Any, field: str, depth: int) -> Any:
    """Return a value as it is stored.

    Raises:
        ValueError: It cannot be stored; the message names the field.
    """
    if depth > MAX_DEPTH:
        raise ValueError(f"{field!a}: must not be nested deeper than {MAX_DEPTH} levels")
    match value:
        case str():
            if any("\ud800" <= character <= "\udfff" for character in value):
                raise ValueError(f"{field!a}: must be valid Unicode, without half of a surrogate pair")
            return without_nul(value)
        case float() if not math.isfinite(value):
            raise ValueError(f"{field!a}: numbers must be finite")
        case dict():
            return {_storable(name, field, depth): _storable(item, field, depth + 1) for name, item in value.items()}
        case list() | tuple():
            return [_storable(item, field, depth + 1) for item in value]
        case _:
            return value
