"""``querymill ranks``: rebuild the ranks of conversations, or list them."""

from typing import Annotated

import typer
from rich.table import Table

from querymill.cli.jobs import JsonOption
from querymill.cli.terminal import Console, echo
from querymill.client.mill import Querymill
from querymill_shared.contracts.conversations.ranks import RankList, RankListResult, RecomputeRanks

Collection = Annotated[str, typer.Option(help="the collection")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Rebuild the ranks of conversations, or list them.", no_args_is_help=True)
    group.command("rebuild")(rebuild)
    group.command("show")(show)
    app.add_typer(group, name="ranks")


def rebuild(
    collection: Collection,
    mode: Annotated[str, typer.Option(help="the reference part by count, or by pagerank")] = "count",
    parts: Annotated[int, typer.Option(help="steps that workers share, 1 to 64")] = 2,
    as_json: JsonOption = False,
) -> None:
    """Rebuild all references and ranks; searches use the old ranks until all new ones are there."""
    asked = RecomputeRanks.model_validate({"collection": collection, "mode": mode, "parts": parts})
    with Querymill() as mill:
        result = mill.submit(asked).result()
    if as_json:
        echo(result.model_dump_json())
        return
    echo(f"version {result.version}: {result.total} sessions, {result.references} references between them")


def show(
    collection: Collection,
    limit: Annotated[int, typer.Option(help="number of sessions to list, 1 to 200")] = 20,
    as_json: JsonOption = False,
) -> None:
    """List the sessions with the highest ranks, and what each rank is made of."""
    asked = RankList(collection=collection, limit=limit)
    with Querymill() as mill:
        result = mill.submit(asked).result(timeout=asked.deadline + 10)
    if as_json:
        echo(result.model_dump_json())
    else:
        Console().print(table_of(result))
        echo(f"{result.waiting} changed sessions wait for an update")


def table_of(result: RankListResult) -> Table:
    """Format the ranks as a table, one row each."""
    table = Table("session", "rank", "base", "depth", "reference", "quality", "recency", "references", box=None)
    for row in result.results:
        parts = (row.rank, row.base, row.depth, row.reference, row.quality, row.recency)
        table.add_row(row.session_id, *(f"{part:.3f}" for part in parts), f"{row.references:g}")
    return table
