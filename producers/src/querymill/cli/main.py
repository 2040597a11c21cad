"""The commands, joined to one command line."""

import typer

from querymill.cli import (
    bench,
    calibrate,
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
)
from querymill.cli.exits import guarded

app = typer.Typer(
    name="querymill",
    help="Event-driven retrieval: hand a question over, watch it travel, read the answer.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for group in (
    stack, ingest, conversations, search, ranks, embed, rerank, jobs, evaluate, calibrate, bench, demo,
):  # fmt: skip
    group.register(app)


def main() -> None:
    """Run the command line."""
    guarded(app)
