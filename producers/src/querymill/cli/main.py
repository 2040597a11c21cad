"""All commands, joined into one command line."""

import typer

from querymill.cli import (
    answer,
    bench,
    calibrate,
    calibrate_files,
    conversations,
    demo,
    embed,
    evaluate,
    ingest,
    jobs,
    ranks,
    rerank,
    search,
    stack,
    upkeep,
)
from querymill.cli.exits import guarded

app = typer.Typer(
    name="querymill",
    help="Event-driven retrieval: submit a question, watch the search, read the result.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
GROUPS = (
    stack,
    ingest,
    conversations,
    search,
    answer,
    rerank,
    embed,
    ranks,
    upkeep,
    jobs,
    evaluate,
    calibrate,
    calibrate_files,
    bench,
    demo,
)
for group in GROUPS:
    group.register(app)


def main() -> None:
    """Run the command line."""
    guarded(app)
