"""The options of ``querymill search files``."""

from typing import Annotated, Any

import typer

from querymill.cli.options import Collection, Deadline, FilterOption, Json, LaneOption, Query, RequestFile, given


def options(
    query: Query = None,
    collection: Collection = None,
    request: RequestFile = None,
    mode: Annotated[str | None, typer.Option(help="iterative, oneshot")] = None,
    channels: Annotated[list[str] | None, typer.Option(help="words, vectors; may be repeated")] = None,
    patterns: Annotated[
        list[str] | None, typer.Option("--pattern", help="a regular expression for contents (RE2); may be repeated")
    ] = None,
    globs: Annotated[
        list[str] | None, typer.Option("--glob", help="a pattern for paths, as in ignore files; may be repeated")
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="rounds at most, 1 to 3")] = None,
    candidates: Annotated[int | None, typer.Option(help="files evaluated in a round, 20 to 50")] = None,
    top_n: Annotated[int | None, typer.Option(help="number of files returned, 1 to 200")] = None,
    evaluator: Annotated[str | None, typer.Option(help="default, judge: who says how relevant a file is")] = None,
    token_budget: Annotated[int | None, typer.Option(help="tokens after which no further round begins")] = None,
    context_budget: Annotated[int | None, typer.Option(help="tokens of the joined high files; 0 joins none")] = None,
    filter_: FilterOption = None,
    under: Annotated[list[str] | None, typer.Option(help="only files below this folder; may be repeated")] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="leave out files that match this pattern; may be repeated")
    ] = None,
    kinds: Annotated[
        list[str] | None, typer.Option(help="code, tests, documentation, generated; may be repeated (default: all)")
    ] = None,
    return_low: Annotated[bool | None, typer.Option(help="return low files, too")] = None,
    why_not: Annotated[str | None, typer.Option(help="say why this file (its path) is no hit")] = None,
    deadline: Deadline = None,
    lane: LaneOption = None,
    as_json: Json = False,
) -> dict[str, Any]:
    """Search a code base in rounds; shows each round live, then the files, why, and what it cost."""
    return given(locals())
