"""The options of ``querymill search conversations``."""

import os
from datetime import datetime
from typing import Annotated, Any

import typer

from querymill.cli.kinds.conversations.zone import machine_zone
from querymill.cli.options import Collection, Deadline, FilterOption, Json, LaneOption, Query, RequestFile, given


def options(
    query: Query = None,
    collection: Collection = None,
    request: RequestFile = None,
    current_session: Annotated[str | None, typer.Option(help="the session you are in: counts double")] = None,
    recent_sessions: Annotated[
        list[str] | None, typer.Option(help="a session you were in lately: counts one and a half; may be repeated")
    ] = None,
    filter_: FilterOption = None,
    metadata: Annotated[bool | None, typer.Option(help="show the metadata of sessions")] = None,
    top_n: Annotated[int | None, typer.Option(help="number of sessions returned, 1 to 200")] = None,
    scoring: Annotated[str | None, typer.Option(help="product, bounded, bm25")] = None,
    rank_swing: Annotated[
        float | None, typer.Option(help="with --scoring bounded: weight of ConversationRank, 0 to 2")
    ] = None,
    decay_swing: Annotated[float | None, typer.Option(help="with --scoring bounded: weight of the age, 0 to 2")] = None,
    context_cap: Annotated[
        float | None, typer.Option(help="with --scoring bounded: largest boost for your own sessions, 1 to 2")
    ] = None,
    diversify: Annotated[bool | None, typer.Option(help="mix ages and topics")] = None,
    vectors: Annotated[
        bool | None, typer.Option(help="join the sessions that mean the same; by default if bounded")
    ] = None,
    time_filter: Annotated[bool | None, typer.Option(help="read times in the query as a filter")] = None,
    expansion: Annotated[bool | None, typer.Option(help="search synonyms too")] = None,
    spelling: Annotated[bool | None, typer.Option(help="correct words that the collection does not know")] = None,
    simplification: Annotated[bool | None, typer.Option(help="drop filler words")] = None,
    now: Annotated[datetime | None, typer.Option(help="search as if it were then")] = None,
    time_zone: Annotated[str | None, typer.Option(help="where your days begin: Asia/Shanghai; by default here")] = None,
    why_not: Annotated[str | None, typer.Option(help="explain why this session is not among the hits")] = None,
    deadline: Deadline = None,
    lane: LaneOption = None,
    as_json: Json = False,
) -> dict[str, Any]:
    """Search sessions; shows how the query was understood, the hits, and what their scores are made of."""
    fields = given(locals())
    zone = machine_zone(os.environ) if request is None and time_zone is None else None
    return fields if zone is None else fields | {"time_zone": zone}
