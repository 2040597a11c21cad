"""All commands, joined into one command line. A command's module is imported when the command is used.

So `--version` and `--help` cost neither the contracts nor the board's driver.
"""

from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points, version
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from querymill.cli.installed import GROUP, add_commands
from querymill.cli.terminal import echo


@dataclass(frozen=True, slots=True)
class CommandSummary:
    """A line of the help: the module of ``querymill.cli`` that has the command, its panel, and what it does.

    The commands of other distributions have no module here; ``extra`` names the extra that installs them.
    """

    panel: str
    does: str
    module: str = ""
    extra: str = ""


ONE_MACHINE, STORED, ASKING, JOBS = "One machine", "What is stored", "Ask", "Jobs and the fleet"
SERVING, MODELS, MEASURING = "Serve", "Models and indexes", "Measure"

COMMANDS: Final = {
    "up": CommandSummary(ONE_MACHINE, "start the embedded stack, its workers and the gateway", "stack"),
    "down": CommandSummary(ONE_MACHINE, "stop the embedded stack; its data stays", "stack"),
    "demo": CommandSummary(ONE_MACHINE, "load samples into a stack of its own, run every kind of job", "demo"),
    "doctor": CommandSummary(ONE_MACHINE, "check settings and services; name a fix for what fails", "stack"),
    "ingest": CommandSummary(STORED, "load documents, code, chats or histories of tools", "ingest"),
    "list": CommandSummary(STORED, "list the documents of a collection", "documents"),
    "show": CommandSummary(STORED, "show one document, or a page or message of it", "documents"),
    "export": CommandSummary(STORED, "write documents as JSON lines that can be ingested", "documents"),
    "drop": CommandSummary(STORED, "drop documents for good", "documents"),
    "collections": CommandSummary(STORED, "list the collections and the kinds that each holds", "documents"),
    "extend": CommandSummary(STORED, "add live messages to a session", "extend"),
    "ranks": CommandSummary(STORED, "rebuild or list the ranks of conversations", "ranks"),
    "search": CommandSummary(ASKING, "search a collection: live progress, then the hits", "search"),
    "batch": CommandSummary(ASKING, "ask many questions, as fast as the limits allow", "batch"),
    "answer": CommandSummary(ASKING, "answer a question from hits of any source", "answer"),
    "rerank": CommandSummary(ASKING, "order hits of any source by relevance", "rerank"),
    "embed": CommandSummary(ASKING, "embed texts into a file or a table", "embed"),
    "jobs": CommandSummary(JOBS, "list the latest jobs, or those in one state", "jobs"),
    "job": CommandSummary(JOBS, "show, follow, cancel, replay or drop one job", "jobs"),
    "status": CommandSummary(JOBS, "show workers, queues, jobs and providers", "status"),
    "gateway": CommandSummary(SERVING, "serve HTTP and the console", "gateway"),
    "keys": CommandSummary(SERVING, "make, list, rotate and revoke keys of the gateway", "keys"),
    "mcp": CommandSummary(SERVING, "serve MCP on standard input and output", "mcp"),
    "worker": CommandSummary(SERVING, "run a worker", "machine"),
    "migrate": CommandSummary(SERVING, "bring the database to the newest schema", "machine"),
    "backup": CommandSummary(SERVING, "write all that is stored, and the jobs, into a folder", "backup"),
    "restore": CommandSummary(SERVING, "restore a backup into empty servers", "backup"),
    "reembed": CommandSummary(MODELS, "embed again after a change of EMBEDDING_MODEL", "upkeep"),
    "reindex": CommandSummary(MODELS, "rebuild a text index after a change of the tokeniser", "upkeep"),
    "calibrate": CommandSummary(MODELS, "fit the bands of similarity to a model", extra="eval"),
    "calibrate-files": CommandSummary(MODELS, "fit the weights of evidence of files", extra="eval"),
    "eval": CommandSummary(MEASURING, "measure a retriever on judged questions, or draft them", extra="eval"),
    "bench": CommandSummary(MEASURING, "run a benchmark", extra="eval"),
}


class Commands(TyperGroup):
    """The commands: the help is printed from their summaries, and one that is used is imported."""

    def __init__(self, **options: Any) -> None:
        summaries = {
            name: TyperCommand(name, help=summary.does, rich_help_panel=summary.panel)
            for name, summary in COMMANDS.items()
        }
        super().__init__(**options | {"commands": summaries})

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  # its signature is typer's
        """List the commands in the order of their summaries, then those that other distributions declare."""
        return [*COMMANDS, *sorted({entry.name for entry in entry_points(group=GROUP)} - COMMANDS.keys())]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return what the help says of a command."""
        return super().get_command(ctx, cmd_name) or self.imported(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is used, imported."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, self.imported(name) if command is not None and name is not None else command, rest

    def imported(self, name: str) -> Any:
        """Import a command, or return None if there is none of this name."""
        app = typer.Typer()
        app.callback()(_join)
        summary = COMMANDS.get(name, CommandSummary("", ""))
        if summary.module:
            EntryPoint(name, f"querymill.cli.{summary.module}:register", GROUP).load()(app)
        else:
            add_commands(app, entry_points(group=GROUP, name=name), lacking={name: summary.extra})
        group = typer.main.get_command(app)
        return group.commands.get(name) if isinstance(group, TyperGroup) else None


def _join() -> None:
    """Make a group of commands, even of one."""


app = typer.Typer(name="querymill", cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False)


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


def main() -> None:
    """Run the command line."""
    from querymill.cli.exits import guarded

    guarded(app)
