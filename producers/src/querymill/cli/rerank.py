"""``querymill rerank``: put hits that you already have in the order of their relevance."""

from pathlib import Path
from typing import Annotated

import typer

from querymill.cli import screen
from querymill.cli.request_file import fields_in
from querymill.cli.terminal import Console, echo
from querymill.client.mill import Querymill
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.rerank import Rerank


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(rerank)


def rerank(
    file: Annotated[Path, typer.Argument(help='a JSON file: {"query", "hits": [{"id", "text", "score"}]}')],
    combine: Annotated[str | None, typer.Option(help="product (relevance × similarity) or weighted")] = None,
    top_n: Annotated[int | None, typer.Option(help="number of hits returned, 1 to 200; all without it")] = None,
    collection: Annotated[
        str | None, typer.Option(help="collection to charge for provider calls; it need not exist (default: default)")
    ] = None,
    deadline: Annotated[float | None, typer.Option(help="seconds until the result is due")] = None,
    lane: Annotated[Lane | None, typer.Option(help="priority under a provider's rate limit")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Judge each hit's relevance to the query; shows each batch live, then the hits in their new order."""
    options = {"combine": combine, "top_n": top_n, "collection": collection, "deadline": deadline, "lane": lane}
    given = {name: value for name, value in options.items() if value is not None}
    wanted = Rerank.model_validate({"collection": "default"} | fields_in(file, named="FILE") | given)
    with Querymill() as mill:
        job = mill.submit(wanted)
        if as_json:
            echo(job.result(timeout=wanted.deadline + 10).model_dump_json())
            return
        console = Console()
        screen.follow(console, wanted.query, job.events(timeout=wanted.deadline + 10))
        screen.show_reranked(console, job.result(timeout=5))
