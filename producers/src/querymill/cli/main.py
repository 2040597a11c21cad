"""The commands, joined to one command line."""

import typer

from querymill.cli import bench, calibrate, calibrate_files, demo, embed, evaluate, ingest, jobs, rerank, search, stack
from querymill.cli.exits import guarded

app = typer.Typer(
    name="querymill",
    help="Event-driven retrieval: hand a question over, watch it travel, read the answer.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for group in (stack, ingest, search, embed, rerank, jobs, evaluate, calibrate, calibrate_files, bench, demo):
    group.register(app)


def main() -> None:
    """Run the command line."""
    guarded(app)
