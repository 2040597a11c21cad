"""The options that searches of every kind have, and how options become fields of a request."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from querymill.filters import HELP
from querymill_shared.contracts.fields import Lane

Query = Annotated[str | None, typer.Argument(help="the question")]
Collection = Annotated[str | None, typer.Option(help="the collection to search")]
RequestFile = Annotated[Path | None, typer.Option(help="a JSON file with the request's fields")]
Deadline = Annotated[float | None, typer.Option(help="seconds until the result is due")]
LaneOption = Annotated[Lane | None, typer.Option(help="priority under a provider's rate limit")]
Json = Annotated[bool, typer.Option("--json", help="print one JSON object")]

#: The parameter is called ``filter_``; `querymill.cli.search` reads what it holds.
FilterOption = Annotated[list[str] | None, typer.Option("--filter", help=HELP)]

#: Parameters of every command that are not fields of a request.
NOT_FIELDS: Final = frozenset({"request", "as_json"})


def given(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request among a command's parameters: those that the caller gave.

    >>> given({"query": "q", "top_n": None, "documents": [], "hyde": False, "as_json": True})
    {'query': 'q', 'hyde': False}
    """
    return {
        name.removesuffix("_"): value
        for name, value in parameters.items()
        if name not in NOT_FIELDS and value is not None and value != []
    }
