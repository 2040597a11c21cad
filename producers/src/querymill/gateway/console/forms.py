"""Search forms made from the contracts: every field of a request, a few of them first. Pure."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal

from querymill.filters import HELP, read_filter, write_filter
from querymill.presenting.request_fields import resolved
from querymill.presenting.turns import lines_of, turns_in
from querymill_shared.contracts.expansion import Expands
from querymill_shared.contracts.fields import AnyRequest
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.search import AnySearch
from querymill_shared.earlier_turns import COUNTED_TURNS

#: A kind of documents, or all of them: the search over everything.
FormKind = Retriever | Literal["search"]
EVERYTHING: Final = "search"
Control = Literal["text", "long", "number", "check", "choice", "several", "lines", "turns", "filter", "moment"]
#: The fields of each kind that its form shows after the question and what is written beside it; all others are under
#: "More".
OWN_FIRST: Final[Mapping[FormKind, Sequence[str]]] = {
    "reports": ("answer", "company", "period", "deadline"),
    "messages": ("session_id", "ranking", "limit"),
    "conversations": ("current_session", "time_zone"),
    "modules": ("sub_queries", "top_k"),
    "files": ("rounds", "patterns"),
    "search": ("collections", "kinds", "group"),
}
#: What may be written beside a question, where that is off unless asked for. What is None is left to the workers.
_EXPANSIONS: Final = tuple(name for name in Expands.__annotations__ if Expands.model_fields[name].default is not None)
#: Fields that are no part of a form: they are set by the page itself, or worked out when a search is submitted.
_LEFT_OUT: Final = frozenset(("kind", "version", "collection", "branches", "asked_first"))
_WORDS: Final = {
    "history": "earlier turns of the chat",
    "id": "ID",
    "ids": "IDs",
    "top_n": "number of hits",
    "top_k": "number of hits",
    "rrf_k": "RRF k",
}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form. ``values`` are what it has now; ``wrong`` is the rule that it breaks, "" if none."""

    name: str
    label: str
    control: Control
    values: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    help: str = ""
    is_set: bool = False
    minimum: float | None = None
    maximum: float | None = None
    is_required: bool = False
    wrong: str = ""

    @property
    def value(self) -> str:
        """The one value, or the lines of all."""
        return "\n".join(self.values)


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a kind: its first fields, and the others."""

    kind: str
    first: tuple[Field, ...]
    more: tuple[Field, ...]

    @property
    def is_open(self) -> bool:
        """Whether the other fields are shown: one of them is set, or wrong."""
        return any(field.is_set or field.wrong for field in self.more)


def form_of(
    kind: FormKind, asked: type[AnyRequest], given: Mapping[str, Sequence[str]], wrong: Mapping[str, str] | None = None
) -> Form:
    """Make the form of a request, filled with what was given."""
    schema = asked.model_json_schema()
    fields = {
        name: _field(name, about, schema, given, (wrong or {}).get(name, ""))
        for name, about in schema["properties"].items()
        if name not in _LEFT_OUT
    }
    written = _EXPANSIONS if issubclass(asked, Expands) else ()
    first = [name for name in ("query", *written, *OWN_FIRST.get(kind, ())) if name in fields]
    return Form(
        kind, tuple(fields[name] for name in first), tuple(field for name, field in fields.items() if name not in first)
    )


def _field(
    name: str, about: Mapping[str, Any], schema: Mapping[str, Any], given: Mapping[str, Sequence[str]], wrong: str
) -> Field:
    plain = _resolved(about, schema)
    control, choices = _control(name, plain, schema)
    default = plain.get("default")
    values = tuple(value for value in given.get(name, ()) if value.strip())
    if name not in given and control in ("check", "choice", "several"):
        values = tuple(_texts(default))
    return Field(
        name,
        _WORDS.get(name, name.replace("_", " ")),
        control,
        values,
        choices,
        _help(control, default),
        bool(given.get(name)) and values != tuple(_texts(default)),
        plain.get("minimum", plain.get("exclusiveMinimum")),
        plain.get("maximum"),
        name in schema.get("required", ()),
        wrong,
    )


def _resolved(about: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a field. What may be true, false or something else, also nothing, is a choice."""
    found = resolved(about, schema)
    words = [word for part in about.get("anyOf", ()) for word in _words_of(part)]
    return found | {"enum": words} if "true" in words else found


def _words_of(about: Mapping[str, Any]) -> tuple[str, ...]:
    if about.get("type") == "boolean":
        return ("true", "false")
    return (str(about["const"]),) if "const" in about else ()


def _control(name: str, about: Mapping[str, Any], schema: Mapping[str, Any]) -> tuple[Control, tuple[str, ...]]:
    if name == "filter":
        return "filter", ()
    if name == "history":
        return "turns", ()
    if name in ("query", "question"):
        return "long", ()
    if "enum" in about:
        return "choice", tuple(map(str, about["enum"]))
    match about.get("type"):
        case "boolean":
            return "check", ()
        case "integer" | "number":
            return "number", ()
        case "array":
            items = _resolved(about.get("items", {}), schema)
            return ("several", tuple(map(str, items["enum"]))) if "enum" in items else ("lines", ())
        case _:
            return ("moment" if about.get("format") in ("date", "date-time") else "text"), ()


def _texts(value: Any) -> list[str]:
    if value in (None, False, [], {}):
        return []
    if isinstance(value, list):
        return [str(each) for each in value]
    return ["true" if value is True else str(value)]


def _help(control: Control, default: Any) -> str:
    if control == "filter":
        return f"{HELP}. One condition a line."
    if control == "lines":
        return "One a line."
    if control == "turns":
        return "One a line, as in “user: which ships?” and “assistant: nine”."
    if control == "number" and default is not None:
        return f"{default:g}, unless set"
    return ""


#: A line of a field whose entries have a weight: "3 | the text".
_WEIGHTED: Final = re.compile(r"(?P<weight>\d+(?:\.\d+)?)\s*\|\s*(?P<text>.+)")


def fields_of(
    kind: FormKind, asked: type[AnyRequest], given: Mapping[str, Sequence[str]], collection: str
) -> dict[str, Any]:
    """Return the fields of the request that a form asks for. Their rules are those of the contract.

    Raises:
        ValueError: The filter cannot be read.
    """
    schema = asked.model_json_schema()
    fields: dict[str, Any] = {"kind": kind} | ({} if kind == EVERYTHING else {"collection": collection})
    for name, about in schema["properties"].items():
        if name in _LEFT_OUT or name not in given:
            continue
        plain = _resolved(about, schema)
        control, _ = _control(name, plain, schema)
        value = _read(control, plain, [each for each in given[name] if each.strip()], kind)
        if value is not None:
            fields[name] = value
    return fields


def given_by(kind: FormKind, asked: AnyRequest) -> dict[str, list[str]]:
    """Return what a form has to be given so that it asks for a request again. What no form can ask for is left out."""
    schema = type(asked).model_json_schema()
    given: dict[str, list[str]] = {}
    for name, value in asked.model_dump(mode="json", exclude_defaults=True).items():
        if name in _LEFT_OUT or name not in schema["properties"]:
            continue
        control, _ = _control(name, _resolved(schema["properties"][name], schema), schema)
        written = _written(control, value, kind)
        if written is not None:
            given[name] = written
    return given


def given_after(kind: FormKind, asked: AnySearch, answer: str) -> dict[str, list[str]]:
    """Return what a form has to be given for the next question of a chat.

    That is what a request has but its question, which is a turn of the chat by now, like its ``answer`` if it has one.
    """
    given = {name: values for name, values in given_by(kind, asked).items() if name != "why_not"}
    turns = [turn.model_dump() for turn in asked.history]
    turns += [{"role": "user", "text": text} for text in given.pop("query", ())]
    turns += [{"role": "assistant", "text": answer}] if answer else []
    return given | {"history": ["\n".join(lines_of(turns[-COUNTED_TURNS:]))]}


def _written(control: Control, value: Any, kind: FormKind) -> list[str] | None:
    """Write the value of a control, as `_read` reads it. None if it cannot be."""
    match control:
        case "check":
            return ["true" if value else ""]
        case "several":
            return list(map(str, value))
        case "filter":
            return ["\n".join(write_filter(value, _retriever_of(kind)))]
        case "turns":
            return ["\n".join(lines_of(value))]
        case "lines":
            lines = [_written_line(each) for each in value]
            return None if None in lines else ["\n".join(filter(None, lines))]
        case _:
            return None if isinstance(value, dict | list) else _texts(value)


def _written_line(value: Any) -> str | None:
    """Write an entry as a line, None if it is neither a text nor a text with a weight."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict) or not {"description"} <= value.keys() <= {"description", "weight"}:
        return None
    weight = value.get("weight")
    return value["description"] if weight is None else f"{weight:g} | {value['description']}"


def _read(control: Control, about: Mapping[str, Any], values: Sequence[str], kind: FormKind) -> Any:
    if control == "check":
        return "true" in values
    if not values:
        return None
    match control:
        case "several":
            return list(values)
        case "lines":
            return [_line(line.strip()) for value in values for line in value.split("\n") if line.strip()]
        case "turns":
            return turns_in(line for value in values for line in value.split("\n"))
        case "filter":
            lines = [line.strip() for line in values[0].split("\n") if line.strip()]
            return read_filter(lines, _retriever_of(kind))
        case "number":
            return _number(values[0].strip(), is_whole=about.get("type") == "integer")
        case _:
            return values[0]


def _retriever_of(kind: FormKind) -> Retriever | None:
    return None if kind == EVERYTHING else kind


def _line(line: str) -> Any:
    found = _WEIGHTED.fullmatch(line)
    return {"description": found["text"], "weight": float(found["weight"])} if found else line


def _number(written: str, *, is_whole: bool) -> Any:
    with suppress(ValueError):
        return int(written) if is_whole else float(written)
    return written  # the contract says which rule it breaks
