"""``querymill search``: ask one question and watch it travel."""

import json
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from querymill.cli import screen
from querymill.cli.exits import WrongUse
from querymill.cli.request_file import fields_in
from querymill.cli.screen_messages import show_messages
from querymill.client import Querymill
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.jobs import decode_request
from querymill_shared.contracts.messages import MessageResult, MessageSearch
from querymill_shared.contracts.reports import ReportSearch

#: Options that are no field of the request, or not one as they are.
_NO_FIELDS = ("request", "as_json", "today", "similarity_threshold")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(search)


def search(
    kind: Annotated[str, typer.Argument(help="which retriever: reports, messages")],
    query: Annotated[str | None, typer.Argument(help="the question")] = None,
    collection: Annotated[str | None, typer.Option(help="the collection to search")] = None,
    request: Annotated[Path | None, typer.Option(help="a JSON file with the request's fields")] = None,
    top_n: Annotated[int | None, typer.Option(help="hits returned, 1 to 200")] = None,
    candidates: Annotated[int | None, typer.Option(help="passages per query and document")] = None,
    hyde: Annotated[bool | None, typer.Option(help="search a hypothetical answer too")] = None,
    multi_query: Annotated[
        list[str] | None, typer.Option(help="synonym, subquestion, variant; may be repeated")
    ] = None,
    return_parent_pages: Annotated[bool | None, typer.Option(help="return pages, not passages")] = None,
    inner_factor: Annotated[float | None, typer.Option(help="weight of the inner product")] = None,
    company: Annotated[str | None, typer.Option(help="search this company's reports")] = None,
    period: Annotated[str | None, typer.Option(help="search this period's reports: 2022, FY2021 Q3")] = None,
    documents: Annotated[list[str] | None, typer.Option(help="search these reports (sha1); may be repeated")] = None,
    today: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="your calendar day")] = None,
    session_id: Annotated[str | None, typer.Option(help="search this session only")] = None,
    limit: Annotated[int | None, typer.Option(help="messages returned, 1 to 200")] = None,
    similarity_threshold: Annotated[
        str | None, typer.Option(help="least calibrated similarity, 0 to 1; null: no threshold")
    ] = None,
    exclude_message_id: Annotated[str | None, typer.Option(help="leave this message out")] = None,
    vector_type: Annotated[str | None, typer.Option(help="message, context")] = None,
    include_context: Annotated[bool | None, typer.Option(help="search messages and their contexts")] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="exact, related, fuzzy, persona, abbreviation, script, faq, recommend, explore"),
    ] = None,
    hybrid: Annotated[bool | None, typer.Option(help="join the rankings by vectors and by words")] = None,
    vector_weight: Annotated[float | None, typer.Option(help="weight of the vectors' ranking")] = None,
    words_weight: Annotated[float | None, typer.Option(help="weight of the words' ranking")] = None,
    rrf_k: Annotated[int | None, typer.Option(help="constant of the reciprocal ranks")] = None,
    deadline: Annotated[float | None, typer.Option(help="seconds until the answer is due")] = None,
    lane: Annotated[Lane | None, typer.Option(help="who goes first")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Search a collection; shows each branch live, then the hits and what their scores are made of."""
    given = {name: value for name, value in locals().items() if name not in _NO_FIELDS and value not in (None, [])}
    from_file = {} if request is None else fields_in(request, named="--request")
    asked = from_file | given
    if today is not None:
        asked["today"] = today.date().isoformat()
    if similarity_threshold is not None:
        asked["similarity_threshold"] = None if similarity_threshold == "null" else similarity_threshold
    run(asked, as_json=as_json)


def run(asked: dict[str, Any], *, as_json: bool) -> None:
    """Submit what was asked, follow it, print what came back."""
    wanted = decode_request(json.dumps(asked))
    if not isinstance(wanted, ReportSearch | MessageSearch):
        raise WrongUse(f"kind: {asked['kind']!r} is not a search; use `querymill ingest`")
    with Querymill() as mill:
        job = mill.submit(wanted)
        if as_json:
            typer.echo(job.result(timeout=wanted.deadline + 10).model_dump_json())
            return
        console = Console()
        screen.follow(console, wanted.query, job.events(timeout=wanted.deadline + 10))
        result = job.result(timeout=5)
        if isinstance(result, MessageResult):
            show_messages(console, result)
        else:
            screen.show_reports(console, result)
