"""What a tombstone of a filter keeps: enough to recognise what it covers, and nothing of a person.

A tombstone stays for days after a person's last row has been dropped. So values and prefixes are kept as keyed hashes.
Times and the ends of ranges are kept as they are, because hashes have no order.
"""

import hashlib
import hmac
from collections.abc import Collection, Mapping
from decimal import Context, Decimal
from typing import Any, Final, cast

from querymill_shared.contracts.filters import (
    RESERVED,
    AnyOf,
    FieldType,
    Filterable,
    Retriever,
    StartsWith,
    passes,
    read_condition,
)

#: More digits than a number of a filter can have.
_EXACT: Final = Context(prec=400)
_SALT: Final = "salt"
_CONDITIONS: Final = "conditions"
_DOCUMENTS: Final = "documents"


def blind(conditions: Mapping[str, Any], kind: str, salt: str, documents: Collection[str] = ()) -> dict[str, Any]:
    """Return the scope of a filter as JSON values, hashed with a salt that no other scope has.

    With ``documents``, the filter is for these alone.
    """
    types = RESERVED.get(cast("Retriever", kind), {})
    blinded = {name: _blind(written, types.get(name), salt) for name, written in conditions.items()}
    meant = {_DOCUMENTS: [_hash(document, salt) for document in documents]} if documents else {}
    return {_SALT: salt, _CONDITIONS: blinded, **meant}


def covers(scope: Mapping[str, Any], document: str, seen: Filterable) -> bool:
    """Whether a document is meant by a scope and meets all its conditions."""
    if _DOCUMENTS in scope and _hash(document, scope[_SALT]) not in scope[_DOCUMENTS]:
        return False
    return all(_covers(condition, name, seen, scope[_SALT]) for name, condition in scope[_CONDITIONS].items())


def _blind(written: Any, field_type: FieldType | None, salt: str) -> dict[str, Any]:
    if field_type in ("time", "date"):
        return {"plain": written}
    match read_condition(written, field_type):
        case AnyOf(values):
            return {"among": [_hash(value, salt) for value in values]}
        case StartsWith(prefix):
            return {"prefix": _hash(prefix, salt), "length": len(prefix)}
        case _:
            return {"plain": written}


def _covers(condition: Mapping[str, Any], name: str, document: Filterable, salt: str) -> bool:
    match condition:
        case {"plain": written}:
            return passes({name: written}, document)
        case {"among": among}:
            return any(_hash(value, salt) in among for value in document.values(name) if _is_scalar(value))
        case {"prefix": prefix, "length": length}:
            texts = [value for value in document.values(name) if isinstance(value, str) and len(value) >= length]
            return any(_hash(text[:length], salt) == prefix for text in texts)
        case _:
            raise ValueError(f"a tombstone has a condition that this release does not know: {sorted(condition)}")


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float)


def _hash(value: str | float, salt: str) -> str:
    match value:
        case bool():
            typed = f"bool {value}"
        case str():
            typed = f"text {value}"
        case _:
            typed = f"number {_EXACT.normalize(Decimal(str(value)) or Decimal(0))}"
    return hmac.new(salt.encode(), typed.encode(), hashlib.sha256).hexdigest()[:32]
