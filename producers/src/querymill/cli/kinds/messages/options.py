"""The options of ``querymill search messages``."""

from typing import Annotated, Any

import typer

from querymill.cli.options import Collection, Deadline, FilterOption, Json, LaneOption, Query, RequestFile, given


def options(
    query: Query = None,
    collection: Collection = None,
    request: RequestFile = None,
    session_id: Annotated[str | None, typer.Option(help="search this session only")] = None,
    limit: Annotated[int | None, typer.Option(help="number of messages returned, 1 to 200")] = None,
    similarity_threshold: Annotated[
        str | None, typer.Option(help="least calibrated similarity, 0 to 1; null: no threshold")
    ] = None,
    filter_: FilterOption = None,
    metadata: Annotated[bool | None, typer.Option(help="show the metadata of sessions and messages")] = None,
    exclude_message_id: Annotated[str | None, typer.Option(help="leave this message out")] = None,
    exclude_session_id: Annotated[str | None, typer.Option(help="the session of the message that is left out")] = None,
    vector_type: Annotated[str | None, typer.Option(help="message, context")] = None,
    include_context: Annotated[bool | None, typer.Option(help="search messages and their contexts")] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="exact, related, fuzzy, persona, abbreviation, script, faq, recommend, explore"),
    ] = None,
    ranking: Annotated[
        str | None, typer.Option(help="best (words of messages and neighbours, and vectors) or vectors (vectors alone)")
    ] = None,
    answers_first: Annotated[
        bool | None, typer.Option(help="lift direct answers to the message that is left out")
    ] = None,
    hybrid: Annotated[bool | None, typer.Option(help="by vectors and by own words; not with --ranking best")] = None,
    vector_weight: Annotated[float | None, typer.Option(help="weight of the vectors' ranking")] = None,
    words_weight: Annotated[float | None, typer.Option(help="weight of the words' ranking")] = None,
    rrf_k: Annotated[int | None, typer.Option(help="constant of the reciprocal ranks")] = None,
    why_not: Annotated[str | None, typer.Option(help="say why this message (its vector id) is no hit")] = None,
    deadline: Deadline = None,
    lane: LaneOption = None,
    as_json: Json = False,
) -> dict[str, Any]:
    """Search the messages of chats; shows the hits and how similar they are."""
    fields = given(locals())
    return fields | {"similarity_threshold": None} if similarity_threshold == "null" else fields
