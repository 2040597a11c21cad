"""Results and events whose every text is what somebody stores who means the operator's terminal harm."""

import types
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)

#: A title, a cleared screen, a link, C1, DEL, reordered text, a returned carriage, and markup as rich reads it.
TEXT = "\x1b]0;PWN\x07\x1b[2J\x1b]8;;http://x\x1b\\\x9b31m\x7f\u202e\u2066\rback [/x] [bold]loud [red :bomb: kept"

#: What the screens compute with.
_GIVEN: dict[str, Any] = {
    "explanation": {
        "count": 2, "queries": [TEXT], "max_inner_product": 0.5, "inner_factor": 2.0, "agreement_factor": 1.2,
        "agreement": 0.2, "formula": TEXT, "rank": 1, "factors": {TEXT: 1.0}, "k": 60, "weights": {"modules": 1.0},
    },
    "match_explanation": ({"hits": 1, "normalized_weight": 1.0, "modules": [{"module": TEXT, "name": TEXT}]},),
    "channels": {"modules": {"rank": 1.0, "score": 1.0}},
    "marks": ((0, 40),),
}  # fmt: skip


def hostile(model: type[M]) -> M:
    """Make an instance of a contract, unchecked, all of whose texts are `TEXT`."""
    fields = {name: _GIVEN.get(name) or _value(field.annotation) for name, field in model.model_fields.items()}
    return model.model_construct(**fields)


def _value(annotation: Any) -> Any:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return _value(next(argument for argument in arguments if argument is not types.NoneType))
    if origin is Annotated:
        return _value(arguments[0])
    if origin is Literal:
        return arguments[0]
    if origin is tuple:
        return (_value(arguments[0]),)
    if origin in (dict, Mapping):
        return {_value(arguments[0]): _value(arguments[1])}
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return hostile(annotation)
    plain: dict[Any, Any] = {int: 1, float: 0.5, bool: True, datetime: datetime(2026, 1, 1, tzinfo=UTC)}
    return plain.get(annotation, TEXT)
