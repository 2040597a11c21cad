"""Documents with fields nobody declared: these are kept, as every store and every line of JSON can hold them."""

import math
from typing import Any, Final, Self

from pydantic import ConfigDict, model_validator

from querymill_shared.contracts.fields import Contract, without_nul

#: How deeply lists and objects may be nested in a field that is kept.
DEEPEST: Final = 32


class Described(Contract):
    """A document whose unknown fields are kept as metadata, with blanks for NUL as in every text."""

    model_config = ConfigDict(extra="allow")

    @model_validator(mode="after")
    def _metadata_can_be_kept(self) -> Self:
        if extra := self.model_extra:
            kept = {_kept(name, "metadata", 0): _kept(value, name, 0) for name, value in extra.items()}
            extra.clear()
            extra.update(kept)
        return self


def _kept(value: Any, field: str, depth: int) -> Any:
    """Return a value as it is kept, or refuse it by the name of its field."""
    if depth > DEEPEST:
        raise ValueError(f"{field!a}: must not be nested deeper than {DEEPEST} levels")
    match value:
        case str():
            if any("\ud800" <= character <= "\udfff" for character in value):
                raise ValueError(f"{field!a}: must be valid Unicode, without half of a surrogate pair")
            return without_nul(value)
        case float() if not math.isfinite(value):
            raise ValueError(f"{field!a}: numbers must be finite")
        case dict():
            return {_kept(name, field, depth): _kept(one, field, depth + 1) for name, one in value.items()}
        case list() | tuple():
            return [_kept(one, field, depth + 1) for one in value]
        case _:
            return value
