"""All commands, joined into one command line."""

from importlib.metadata import entry_points

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
from querymill.cli.installed import GROUP, add_commands

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
    demo,
)
for group in GROUPS:
    group.register(app)
add_commands(app, entry_points(group=GROUP))


def main() -> None:
    """Run the command line."""
    guarded(app)
