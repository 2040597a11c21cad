"""The options of a search are the fields of its request; what their contract says of them is the help."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from querymill.cli.labels import LabelOption
from querymill.cli.request_file import HISTORY_HELP
from querymill.filters import HELP
from querymill.presenting.request_fields import may_be_null, resolved
from querymill_shared.contracts.fields import Lane

#: What every search has, or writes in another way than JSON does. `querymill.cli.search` reads what a filter holds.
_OWN: Final[Mapping[str, Any]] = {
    "query": Annotated[str | None, typer.Argument(help="the question")],
    "collection": Annotated[str | None, typer.Option(help="the collection to search")],
    "request": Annotated[Path | None, typer.Option(help="a JSON file with the request's fields")],
    "history": Annotated[Path | None, typer.Option(help=HISTORY_HELP)],
    "filter": Annotated[list[str] | None, typer.Option(help=HELP)],
    "lane": Annotated[Lane | None, typer.Option(help="priority under a provider's rate limit")],
    "label": LabelOption,
    "as_json": Annotated[bool, typer.Option("--json", help="print one JSON object")],
}
#: The order of the help; between these two stand the fields that a kind alone has.
_FIRST, _LAST = (
    ("query", "collection", "request"),
    ("history", "filter", "metadata", "why_not", "deadline", "lane", "label", "as_json"),
)
#: Parameters of every command that are not fields of a request, and fields that are no parameters.
NOT_FIELDS: Final = frozenset({"request", "label", "as_json"})
_NO_OPTIONS: Final = frozenset({"kind", "version"})
_TYPES: Final[Mapping[str, type]] = {"boolean": bool, "integer": int, "number": float}
#: How an option says that a field is null.
_NULL: Final = "null"


def signature_of(search: type[Any], flags: Mapping[str, str]) -> Signature:
    """Return the parameters of the command that makes a request; ``flags`` names the options that have another name."""
    schema = search.model_json_schema()
    own = [name for name in schema["properties"] if name not in {*_FIRST, *_LAST, *_NO_OPTIONS}]
    offered = {*schema["properties"], *NOT_FIELDS}
    kinds: dict[str, Any] = {
        name: _OWN[name] if name in _OWN else _option(schema["properties"][name], schema, flags.get(name))
        for name in (*_FIRST, *own, *_LAST)
        if name in offered
    }
    return Signature([
        Parameter(name, Parameter.KEYWORD_ONLY, default=False if name == "as_json" else None, annotation=annotation)
        for name, annotation in kinds.items()
    ])  # fmt: skip


def _option(about: Mapping[str, Any], schema: Mapping[str, Any], flag: str | None) -> Any:
    """Return the type of an option. What is wrong in a text is said by the contract, in its own words."""
    field = resolved(about, schema)
    type_: Any = _TYPES.get(field.get("type", ""), str)
    more: dict[str, Any] = {}
    if _is_number_or_null(about, schema):
        type_, more = str, {"metavar": f"<{type_.__name__}>"}
    elif field.get("type") == "array":
        type_ = list[str]
    elif field.get("format") in ("date", "date-time"):
        type_, more = datetime, {"formats": ["%Y-%m-%d"]} if field["format"] == "date" else {}
    told = typer.Option(*([flag] if flag else []), help="; ".join(_help(about, field, schema)), **more)
    return Annotated[type_ | None, told]


def _is_number_or_null(about: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    return may_be_null(about) and resolved(about, schema).get("type") in ("integer", "number")


def _help(about: Mapping[str, Any], field: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is said of a field: its description, with its values and its range unless that says them."""
    said = str(about.get("description", ""))
    items = resolved(field.get("items", {}), schema)
    values = field.get("enum", items.get("enum", ()))
    if any(value not in said for value in values):
        said = f"{said}: {', '.join(values)}"
    if "minimum" in field and "maximum" in field:
        said = f"{said} ({field['minimum']:,} to {field['maximum']:,})"
    yield said
    if field.get("type") == "array":
        yield "may be repeated"


def given_fields(parameters: Mapping[str, Any], search: type[Any]) -> dict[str, Any]:
    """Return the fields of a request among a command's parameters: those that the caller gave."""
    schema = search.model_json_schema()
    fields = {
        name: value
        for name, value in parameters.items()
        if name not in NOT_FIELDS and value is not None and value != []
    }
    nulls = [name for name, value in fields.items() if value == _NULL]
    return fields | {name: None for name in nulls if _is_number_or_null(schema["properties"][name], schema)}
