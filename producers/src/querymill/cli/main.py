"""All commands, joined into one command line."""

from importlib.metadata import entry_points, version
from typing import Annotated

import typer

from querymill.cli import (
    answer,
    batch,
    conversations,
    demo,
    documents,
    embed,
    gateway,
    ingest,
    jobs,
    keys,
    machine,
    mcp,
    ranks,
    rerank,
    search,
    stack,
    status,
    upkeep,
)
from querymill.cli.exits import guarded
from querymill.cli.installed import GROUP, add_commands
from querymill.cli.terminal import echo

app = typer.Typer(
    name="querymill",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
GROUPS = (
    stack,
    status,
    ingest,
    conversations,
    documents,
    search,
    batch,
    answer,
    rerank,
    embed,
    ranks,
    upkeep,
    jobs,
    gateway,
    machine,
    keys,
    mcp,
    demo,
)


def show_version(is_asked: bool) -> None:
    """Print the version and stop, if asked to."""
    if is_asked:
        echo(version("querymill"))
        raise typer.Exit


@app.callback()
def run_command(
    _: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="print the version and stop")
    ] = False,
) -> None:
    """Event-driven retrieval: submit a question, watch the search, read the result."""


for group in GROUPS:
    group.register(app)
add_commands(app, entry_points(group=GROUP))


def main() -> None:
    """Run the command line."""
    guarded(app)
