"""All commands, joined into one command line. A command's module is imported when the command is used."""

import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points, version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from querymill.cli.examples import examples_of
from querymill.cli.installed import add_commands
from querymill.cli.summaries import ABOUT, COMMANDS, GROUP, CommandSummary, help_text
from querymill.cli.terminal import echo
from querymill_command import INTERRUPTED, begin


class Commands(TyperGroup):
    """The commands: the help is printed from their summaries, and one that is used is imported."""

    def __init__(self, **options: Any) -> None:
        summaries = {
            name: TyperCommand(name, help=summary.does, rich_help_panel=summary.panel)
            for name, summary in COMMANDS.items()
        }
        super().__init__(**options | {"commands": summaries})

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  # its signature is typer's
        """Print the help, as `querymill --help` does without loading the command line."""
        sys.stdout.write(help_text(sys.stdout.isatty()))

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  # its signature is typer's
        """List the commands in the order of their summaries, then those that other distributions declare."""
        return [*COMMANDS, *sorted({entry.name for entry in entry_points(group=GROUP)} - COMMANDS.keys())]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return what the help says of a command."""
        return super().get_command(ctx, cmd_name) or self.imported(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is used, imported: from here on it answers Ctrl-C."""
        name, command, rest = super().resolve_command(ctx, args)
        loaded = self.imported(name) if command is not None and name is not None else command
        begin()
        return name, loaded, rest

    def imported(self, name: str) -> Any:
        """Import a command, or return None if there is none of this name."""
        app = typer.Typer()
        app.callback()(_join)
        summary = COMMANDS.get(name, CommandSummary("", ""))
        if summary.module:
            EntryPoint(name, f"querymill.cli.{summary.module}:register", GROUP).load()(app)
        else:
            entries = entry_points(group=GROUP, name=summary.declared_as or name)
            add_commands(app, entries, lacking={} if entries else {name: summary.extra})
        group = typer.main.get_command(app)
        command = group.commands.get(name) if isinstance(group, TyperGroup) else None
        _complete_help(command, name)
        return command


def _complete_help(command: Any, path: str) -> None:
    """Let the help of a command, and of those below it, end with examples, and break lines where the terminal does."""
    if command is None:
        return
    below = getattr(command, "commands", {})
    for name, each in below.items():
        _complete_help(each, f"{path} {name}")
    paragraphs = (command.help or "").split("\n\n")
    command.help = "\n\n".join(each if "\n " in each else " ".join(each.split()) for each in paragraphs)
    found = examples_of(path) or [example for name in below for example in examples_of(f"{path} {name}")[:1]]
    command.epilog = "\n\n".join(["Examples:", *found]) if found else None


def _join() -> None:
    """Make a group of commands, even of one."""


app = typer.Typer(name="querymill", cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False)


def show_version(is_asked: bool) -> None:
    """Print the version and stop, if asked to."""
    if is_asked:
        echo(version("querymill"))
        raise typer.Exit


@app.callback(help=ABOUT)
def run_command(
    _: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="print the version and stop")
    ] = False,
) -> None:
    """Read the options that stand before a command."""


def main() -> None:
    """Run the command line; turn what it raises into a message on stderr and an exit code."""
    run(app)


def run(command: Callable[[], object]) -> None:
    """Run a command; what it raises is a message on stderr and an exit code."""
    try:
        try:
            command()
        except Exception as error:  # noqa: BLE001  # what is no error of ours is raised again
            from querymill.cli.endings import end

            end(error)
    except KeyboardInterrupt:  # which may come while an error is told
        sys.exit(INTERRUPTED)
