"""Dify's conditions on metadata, as a filter of a search and as what is left to be checked on its hits. Pure.

A filter asks for documents that meet all of its conditions, each a value, a list, a range, a prefix or an absence. What
it cannot say (``not contains``, ``or`` …) is checked on the hits, if these show the field.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Final

from querymill.gateway.dify.shape import MetadataComparison, MetadataCondition
from querymill_shared.contracts.filters import RESERVED, FieldType, Filterable, Retriever, passes

#: Fields of a kind by the names that hits have for them. A filter knows more fields than a hit shows.
SHOWN: Final[Mapping[Retriever, Mapping[str, str]]] = {
    "reports": {"company": "company", "period": "period", "title": "title"},
    "messages": {
        "user_name": "user_name", "role": "message_role", "session_id": "session_id", "time": "created_at",
    },
    "conversations": {"user_name": "user_name", "session_id": "session_id"},
    "modules": {"path": "file_path", "module": "modules"},
    "files": {"path": "path"},
}  # fmt: skip
#: Kinds whose hits show no metadata.
_WITHOUT_METADATA: Final[frozenset[Retriever]] = frozenset(("files",))
_ANY: Final[Any] = object()
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a value must be and must not be, as conditions of a filter, and what its text must hold or end with."""

    names: tuple[str, ...]
    must: Any = _ANY
    must_not: Any = _ANY
    holds: str = ""
    ends: str = ""
    lacks: str = ""

    @property
    def is_one_condition(self) -> bool:
        """Whether a filter can say it."""
        return len(self.names) == 1 and self.must is not _ANY and self.must_not is _ANY

    def is_met(self, document: Filterable) -> bool:
        """Whether a document meets it in one of the fields."""
        return any(self._is_met(document, name) for name in self.names)

    def _is_met(self, document: Filterable, name: str) -> bool:
        if self.must is not _ANY and not passes({name: self.must}, document):
            return False
        if self.must_not is not _ANY and passes({name: self.must_not}, document):
            return False
        texts = [str(value) for value in document.values(name)]
        if self.holds and not any(self.holds in text for text in texts):
            return False
        if self.ends and not any(text.endswith(self.ends) for text in texts):
            return False
        return not (self.lacks and any(self.lacks in text for text in texts))


@dataclass(frozen=True, slots=True)
class Conditions:
    """The filter of a search, and the comparisons that its hits must still meet: all, or with ``any_will_do`` one."""

    filter: Mapping[str, Any] = field(default_factory=dict)
    left: tuple[Comparison, ...] = ()
    any_will_do: bool = False

    def are_met(self, document: Filterable) -> bool:
        """Whether a document that passed the filter meets what is left."""
        met = (comparison.is_met(document) for comparison in self.left)
        return not self.left or (any(met) if self.any_will_do else all(met))


def conditions_of(kind: Retriever, asked: MetadataCondition | None) -> Conditions:
    """Return the conditions on the documents of a kind.

    Raises:
        ValueError: A condition lacks its value, or can be checked neither by a search nor on its hits. The message
            names the field and the rule.
    """
    written = [] if asked is None else asked.conditions or []
    comparisons = [_comparison(kind, each) for each in written]
    if asked is not None and asked.logical_operator == "or" and len(comparisons) > 1:
        return Conditions({}, _checkable(kind, comparisons), any_will_do=True)
    filter_: dict[str, Any] = {}
    left: list[Comparison] = []
    for comparison in comparisons:
        if comparison.is_one_condition and _joined(filter_, comparison.names[0], comparison.must):
            continue
        if len(comparison.names) == 1 and comparison.must is not _ANY:  # a part of it makes the search narrower
            _joined(filter_, comparison.names[0], comparison.must)
        left.append(comparison)
    return Conditions(filter_, _checkable(kind, left))


def filterable(kind: Retriever, hit: Any) -> Filterable:
    """Return what can be checked of a hit."""
    fields = {name: getattr(hit, shown) for name, shown in SHOWN[kind].items()}
    return Filterable(fields, getattr(hit, "metadata", None) or {})


def _joined(filter_: dict[str, Any], name: str, condition: Any) -> bool:
    """Add a condition to a filter, or the other end to a range. Return False if the field has another condition."""
    former = filter_.get(name, {})
    if former == {}:
        filter_[name] = condition
        return True
    ranges = isinstance(former, dict) and isinstance(condition, dict) and "prefix" not in former | condition
    if not ranges or former.keys() & condition.keys():
        return False
    filter_[name] = former | condition
    return True


def _checkable(kind: Retriever, left: Sequence[Comparison]) -> tuple[Comparison, ...]:
    for comparison in left:
        for name in comparison.names:
            is_shown = name in SHOWN[kind] if name in RESERVED[kind] else kind not in _WITHOUT_METADATA
            if not is_shown:
                raise ValueError(f"{name}: hits of {kind} do not show it; ask for a value, a list or a range alone")
    return tuple(left)


def _comparison(kind: Retriever, asked: MetadataComparison) -> Comparison:
    names, operator, value = tuple(asked.names), asked.comparison_operator, asked.value
    if operator == "empty":
        return Comparison(names, must=None)
    if operator == "not empty":
        return Comparison(names, must_not=None)
    if value is None or value == []:
        raise ValueError(f"{names[0]}: {operator!r} needs a value")
    if operator in ("contains", "not contains", "start with", "end with"):
        return _of_text(names, operator, value)
    if operator in ("before", "after", ">", "<", "≥", "≤"):
        return _of_order(names, operator, value, RESERVED[kind].get(names[0]))
    is_text = RESERVED[kind].get(names[0]) is not None
    values = value if isinstance(value, list) else [value]
    wanted = [each for single in values for each in _readings(single, is_text=is_text)]
    return Comparison(names, must_not=wanted) if operator in ("is not", "not in", "≠") else Comparison(names, wanted)


def _of_text(names: tuple[str, ...], operator: str, value: Any) -> Comparison:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{names[0]}: {operator!r} compares with one text")
    match operator:
        case "contains":
            return Comparison(names, holds=value)
        case "not contains":
            return Comparison(names, lacks=value)
        case "start with":
            return Comparison(names, must={"prefix": value})
        case _:
            return Comparison(names, ends=value)


def _of_order(names: tuple[str, ...], operator: str, value: Any, type_: FieldType | None) -> Comparison:
    """Return a range. An end that is left out is checked on the hits, but for a day, where its neighbour is the end."""
    if isinstance(value, list):
        raise ValueError(f"{names[0]}: {operator!r} compares with one value")  # noqa: TRY004  # a rule of a field
    end: Any = value if type_ is None else _text_of(value)
    if operator not in ("before", "after") and type_ is None:
        end = _number(value)
        if end is None:
            raise ValueError(f"{names[0]}: {operator!r} compares with a number")
    side, other = ("from", "to") if operator in (">", "≥", "after") else ("to", "from")
    if operator in ("≥", "≤"):
        return Comparison(names, must={side: end})
    if type_ in ("date", "time") and (day := _day(end)) is not None:
        return Comparison(names, must={side: (day + _DAY if side == "from" else day - _DAY).isoformat()})
    return Comparison(names, must={side: end}, must_not={other: end})


def _day(written: Any) -> date | None:
    try:
        return date.fromisoformat(str(written))
    except ValueError:
        return None


def _number(written: Any) -> float | int | None:
    try:
        read = float(written)
    except ValueError:
        return None
    return int(read) if read.is_integer() else read


def _readings(value: str | float, *, is_text: bool) -> list[Any]:
    """Return what a value may be stored as: Dify sends numbers as texts."""
    number = _number(value)
    return [_text_of(value)] if is_text or number is None else [_text_of(value), number]


def _text_of(value: str | float) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
