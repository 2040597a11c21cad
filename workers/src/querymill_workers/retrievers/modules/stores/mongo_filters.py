"""Filters as queries of MongoDB. A query gives the documents that `passes` lets through, no more and no fewer.

Each value of a document becomes one text: its name, its type and the value, written so that texts sort as the values
do. So every condition is a range of one index over texts, whatever the types, and a name or value of a user is never
read as an operator.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from querymill_shared.contracts.filters import (
    MAX_CHARS,
    RESERVED,
    Absent,
    AnyOf,
    Between,
    Condition,
    Filterable,
    Scalar,
    StartsWith,
    Within,
    read_condition,
)
from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_workers.retrievers.modules.ports import filterable

#: Between the name and the value. Neither a name nor a text holds it.
_SEPARATOR: Final = "\x00"
#: The types of values, in the order in which they sort.
_FALSE_OR_TRUE, _NUMBER, _TEXT, _OTHER = "b", "n", "t", "z"
#: Longer texts are cut: no value of a filter is longer, so their order to one does not change.
_CUT: Final = MAX_CHARS + 1
#: How many documents a condition leaves: the first the fewest.
_BROADNESS: Final = {AnyOf: 0, StartsWith: 1, Between: 2, Within: 3, Absent: 4}
#: What the power of ten of a number is counted from, so that it has four digits and no sign.
_POWER_ZERO: Final = 5_000

Query = dict[str, Any]


class Facts(NamedTuple):
    """What a filter sees of a document, as texts: every value with its name, and the names that are not absent."""

    values: list[str]
    names: list[str]

    def row(self) -> dict[str, Any]:
        """Return the fields of a row. Documents of a collection have few different sets of names."""
        names = hashlib.sha256(json.dumps(self.names).encode()).hexdigest()
        return {"facts": self.values, "fact_names": self.names, "fact_set": names}


def facts_of(document: ModuleDocument) -> Facts:
    """Return what a filter sees of a document."""
    seen = filterable(document)
    names = sorted({*seen.fields, *seen.metadata})
    values = {_written(name, value) for name in names for value in _scalars(seen, name)}
    return Facts(sorted(values), [name for name in names if not seen.is_absent(name)])


def _scalars(seen: Filterable, name: str) -> Iterator[Scalar]:
    return (value for value in seen.values(name) if isinstance(value, str | bool | int | float))


def query_of(
    collection: str, conditions: Mapping[str, Any], sets: Callable[[], Mapping[str, Sequence[str]]] = dict
) -> Query:
    """Return a query of one index, for documents among which are all that meet the conditions.

    It holds the condition that leaves the fewest. For two, servers would read more than one index gives; and of a
    list, one value may meet one end of a range and another value the other end. `meets` tells which documents do.
    ``sets`` are the names of each set that documents of the collection have.
    """
    read = sorted(_read(conditions), key=lambda named: _BROADNESS[type(named[1])])
    if not read:
        return {"collection": collection}
    name, condition = read[0]
    match _ranges(name, condition):
        case None:
            lacking = [key for key, names in sets().items() if name not in names]
            return {"collection": collection, "fact_set": {"$in": lacking}}
        case [(first, None)]:
            return {"collection": collection, "facts": first}
        case [(first, following)]:
            return {"collection": collection, "facts": {"$gte": first, "$lt": following}}
        case several:
            return {"collection": collection, "facts": {"$in": [first for first, _ in several]}}


def meets(conditions: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Whether a row with the facts of a document meets all conditions."""
    facts = row["facts"]
    for name, condition in _read(conditions):
        ranges = _ranges(name, condition)
        if ranges is None:
            if name in row["fact_names"]:
                return False
        elif not any(fact == first if end is None else first <= fact < end for first, end in ranges for fact in facts):
            return False
    return True


def _read(conditions: Mapping[str, Any]) -> list[tuple[str, Condition]]:
    types = RESERVED["modules"]
    return [(name, read_condition(written, types.get(name))) for name, written in conditions.items()]


def _ranges(name: str, condition: Condition) -> list[tuple[str, str | None]] | None:
    """Return where facts lie that meet a condition: each from a text on and before another, or equal to it.

    None: no fact has the name.
    """
    match condition:
        case Absent():
            return None
        case AnyOf(values):
            return [(_written(name, value), None) for value in values]
        case Between(least, most):
            every = _prefix(name, least if least is not None else most)
            first = every if least is None else _written(name, least)
            # No text lies between one and the same with the least character added.
            return [(first, _after(every) if most is None else _written(name, most) + "\x00")]
        case StartsWith(prefix):
            first = _prefix(name, "") + prefix
            return [(first, _after(first))]
        case _:
            raise ValueError(f"{name}: a code document has no time")


def _written(name: str, value: Any) -> str:
    return _prefix(name, value) + _sortable(value)


def _prefix(name: str, value: Any) -> str:
    return f"{name}{_SEPARATOR}{_kind(value)}"


def _after(prefix: str) -> str:
    """Return the least text that is greater than all texts with a prefix."""
    kept = prefix.rstrip("\U0010ffff")
    following = ord(kept[-1]) + 1
    return kept[:-1] + chr(0xE000 if following == 0xD800 else following)  # no text holds half of a surrogate pair


def _kind(value: Any) -> str:
    match value:
        case bool():
            return _FALSE_OR_TRUE
        case int() | float():
            return _NUMBER
        case str():
            return _TEXT
        case _:
            return _OTHER


def _sortable(value: Scalar) -> str:
    """Write a value so that texts compare by code points as the values of its type do."""
    match value:
        case bool():
            return str(int(value))
        case str():
            return value[:_CUT]
        case _:
            return _sortable_number(Decimal(str(value)))  # as JSON writes it


def _sortable_number(number: Decimal) -> str:
    """Write a number as its sign, its power of ten and its digits; those of a negative one are turned round."""
    if number == 0:
        return "1"
    digits = "".join(map(str, number.as_tuple().digits)).rstrip("0")
    written = f"{number.adjusted() + _POWER_ZERO:04}{digits}"
    return f"2{written}" if number > 0 else "0" + "".join(str(9 - int(digit)) for digit in written) + "~"
