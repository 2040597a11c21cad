"""The options of ``querymill search notes``."""

from typing import Annotated, Any

import typer

from querymill.cli.options import Collection, Deadline, Json, LaneOption, Query, RequestFile, given


def options(
    query: Query = None,
    collection: Collection = None,
    request: RequestFile = None,
    limit: Annotated[int | None, typer.Option(help="number of notes returned, 1 to 100")] = None,
    deadline: Deadline = None,
    lane: LaneOption = None,
    as_json: Json = False,
) -> dict[str, Any]:
    """Search notes by their words; shows each note with its score."""
    return given(locals())
