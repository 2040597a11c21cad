"""The options of ``querymill search modules``."""

import re
from typing import Annotated, Any

import typer

from querymill.cli.options import Collection, Deadline, FilterOption, Json, LaneOption, Query, RequestFile, given

#: Any number, so that the contract can refuse those that are not a weight.
_WEIGHTED = re.compile(r"([-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+|nan|inf)):\s*(.+)", re.DOTALL | re.IGNORECASE)


def options(
    query: Query = None,
    collection: Collection = None,
    request: RequestFile = None,
    sub_queries: Annotated[
        list[str] | None,
        typer.Option("--sub-query", help='a part of the request, "8: a cone" with its weight; may be repeated'),
    ] = None,
    top_k: Annotated[int | None, typer.Option(help="number of documents returned, 1 to 100")] = None,
    candidates: Annotated[int | None, typer.Option(help="documents taken from each channel")] = None,
    match: Annotated[str | None, typer.Option(help="exact, suffix: when a module's name counts")] = None,
    mode: Annotated[str | None, typer.Option(help="hits, coverage: what is counted")] = None,
    channels: Annotated[list[str] | None, typer.Option(help="modules, text; may be repeated")] = None,
    lexicon: Annotated[bool | None, typer.Option(help="let plain words stand for modules, as learned")] = None,
    filter_: FilterOption = None,
    split: Annotated[bool | None, typer.Option(help="let a chat model split the request")] = None,
    prompt_tokens: Annotated[int | None, typer.Option(help="budget of the prompt; 0 builds none")] = None,
    why_not: Annotated[str | None, typer.Option(help="say why this document (its id) is no hit")] = None,
    deadline: Deadline = None,
    lane: LaneOption = None,
    as_json: Json = False,
) -> dict[str, Any]:
    """Search code by the modules it uses; shows the hits, which rule found them, and what their scores are made of."""
    fields = given(locals())
    return fields | {"sub_queries": [read_weight(part) for part in sub_queries]} if sub_queries else fields


def read_weight(part: str) -> str | dict[str, Any]:
    """Read a part of a request, and its weight if it has one.

    >>> read_weight("8: a cone")
    {'weight': 8.0, 'description': 'a cone'}
    >>> read_weight("a cone: red")
    'a cone: red'
    """
    found = _WEIGHTED.fullmatch(part)
    return part if found is None else {"weight": float(found[1]), "description": found[2]}
