"""The commands, joined to one command line."""

import typer

from querymill.cli import (
    answer,
    conversations,
    demo,
    embed,
    ingest,
    jobs,
    ranks,
    rerank,
    search,
    stack,
    upkeep,
)
from querymill.cli.exits import guarded
from querymill_evaluation.cli import bench, calibrate, calibrate_files, evaluate

app = typer.Typer(
    name="querymill",
    help="Event-driven retrieval: hand a question over, watch it travel, read the answer.",
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
