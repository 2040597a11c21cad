"""Arguments as agents write them, read as they are meant: the rules of a tool then hold as strictly as ever.

Hosts send null, "" or "None" for what is left out, objects and lists as strings of JSON, numbers and truth values as
strings, and one text or texts joined by commas for a list of texts. What a schema says of a place decides how a value
there is read; where it allows any value, it is kept.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from pydantic import BaseModel

Schema = Mapping[str, Any]
#: Stands for a value that stands for none.
_LEFT_OUT: Final[Any] = object()
#: What languages print for no value.
_NOTHING: Final = frozenset(("null", "None", "undefined"))
#: A host may write JSON into a string of JSON, but not deeper.
_DEPTH: Final = 2


def as_meant(arguments: Mapping[str, Any], of: type[BaseModel]) -> dict[str, Any]:
    """Return the arguments that a tool has, read as they are meant. A text that is left out may be blank."""
    schema = _schema_of(of)
    known = {name: value for name, value in arguments.items() if name in of.model_fields}
    return _Reader(schema, keeps_blank=False).object(known, schema)


def document_as_meant(document: Mapping[str, Any], of: type[BaseModel]) -> dict[str, Any]:
    """Return a document, read as it is meant. Its texts are kept, blank or not."""
    schema = _schema_of(of)
    return _Reader(schema, keeps_blank=True).object(document, schema)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads values by a schema, whose references lead into its ``root``."""

    root: Schema
    keeps_blank: bool

    def object(self, written: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
        properties: Mapping[str, Any] = schema.get("properties", {})
        required = schema.get("required", ())
        read = {
            name: self._value(value, properties[name], is_required=name in required) if name in properties else value
            for name, value in written.items()
        }
        return {name: value for name, value in read.items() if value is not _LEFT_OUT}

    def _value(self, written: Any, schema: Schema, *, is_required: bool) -> Any:
        kinds = list(_kinds(schema, self.root))
        types = {kind.get("type") for kind in kinds if "enum" not in kind and "const" not in kind}
        if isinstance(written, str):
            is_nothing = not written.strip() or _is_nothing(written, types, kinds)
            if is_nothing and not ("string" in types and (is_required or self.keeps_blank)):
                return _LEFT_OUT
            written = written if _is_right(written, types, kinds) else _unquoted(written, types)
        elif isinstance(written, int | float) and types and types <= {"string", "null"}:
            return _digits(written)
        return _LEFT_OUT if written is None else self._inside(written, kinds)

    def _inside(self, written: Any, kinds: Sequence[Schema]) -> Any:
        """Read what an object or a list holds. One object is a list of one."""
        arrays = [kind for kind in kinds if kind.get("type") == "array"]
        objects = [kind for kind in kinds if kind.get("type") == "object"]
        if isinstance(written, Mapping) and arrays and not objects:
            written = [written]
        if isinstance(written, str) and arrays and _are_lists_of_texts(kinds, self.root):
            written = [part for text in written.split(",") if (part := text.strip())]
        if written == [] and objects and not arrays:
            return {}  # what PHP writes for an object without members
        if isinstance(written, Mapping) and len(objects) == 1:
            return self.object(written, objects[0])
        if isinstance(written, list) and arrays:
            read = [self._value(each, arrays[0].get("items", {}), is_required=True) for each in written]
            return [each for each in read if each is not _LEFT_OUT]
        return written


def surplus_of(arguments: Mapping[str, Any], of: type[BaseModel]) -> list[str]:
    """Return the names of arguments that a tool does not have, except those whose value stands for none."""
    return [name for name, value in arguments.items() if name not in of.model_fields and value not in (None, "")]


def _are_lists_of_texts(kinds: Sequence[Schema], root: Schema) -> bool:
    """Whether a place may have nothing but lists of texts."""
    lists = [kind for kind in kinds if kind.get("type") != "null"]
    items = [item for each in lists for item in _kinds(each.get("items", {}), root)]
    return all(each.get("type") == "array" for each in lists) and all(item.get("type") == "string" for item in items)


@lru_cache(maxsize=32)
def _schema_of(model: type[BaseModel]) -> Schema:
    return model.model_json_schema()


def _is_right(written: str, types: set[Any], kinds: Sequence[Schema]) -> bool:
    """Return whether a string may stand in a place as it is: any type is None."""
    return bool(types & {"string", None}) or any(
        written in kind.get("enum", ()) or written == kind.get("const") for kind in kinds
    )


def _is_nothing(written: str, types: set[Any], kinds: Sequence[Schema]) -> bool:
    return written in _NOTHING and not _is_right(written, types - {"string"}, kinds)


def _digits(written: float) -> Any:
    """Return a number as a text has it. A truth value is no number."""
    if isinstance(written, bool):
        return written
    return str(int(written) if isinstance(written, float) and written.is_integer() else written)


def _unquoted(written: str, types: set[Any]) -> Any:
    """Return what a string of JSON holds, if that may stand there; else the string."""
    read: Any = written
    for _ in range(_DEPTH):
        try:
            read = json.loads(read)
        except (ValueError, RecursionError):
            return written
        if not isinstance(read, str):
            return read if _may_stand(read, types) else written
    return written


def _may_stand(read: Any, types: set[Any]) -> bool:
    match read:
        case None:
            return True
        case dict():
            return bool(types & {"object", "array"})
        case list():
            return "array" in types or ("object" in types and not read)
        case bool():
            return "boolean" in types
        case _:
            return bool(types & {"integer", "number"})


def _kinds(schema: Schema, root: Schema) -> Iterator[Schema]:
    """Yield the kinds of values that a place may have."""
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    others = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    for other in others:
        yield from _kinds(other, root)
    if not others:
        yield schema
