"""Commands of other distributions: whatever is installed and declares them joins the command line."""

from collections.abc import Iterable
from importlib.metadata import EntryPoint

import typer

from querymill.cli.exits import WrongUse

#: The entry points that are commands. Each is named as its command and refers to a function ``register(app)``.
GROUP = "querymill.commands"


def add_commands(app: typer.Typer, entries: Iterable[EntryPoint]) -> None:
    """Add the command of each entry point, in the order of their names.

    A command that cannot be imported is added all the same: it says why when it is used, and the others work.
    """
    for entry in sorted(entries, key=lambda entry: entry.name):
        try:
            register = entry.load()
        except Exception as error:  # noqa: BLE001  # an import may raise anything
            _add_broken(app, entry, error)
        else:
            register(app)


def _add_broken(app: typer.Typer, entry: EntryPoint, error: Exception) -> None:
    source = entry.module if entry.dist is None else entry.dist.name
    said = " ".join(f"{type(error).__name__}: {error}".split())
    reason = f"{entry.name}: {source} cannot be imported ({said}); install it again"

    def refuse() -> None:
        raise WrongUse(reason)

    # Whatever is given to it, the reason comes first.
    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    app.command(entry.name, help=f"Unavailable: {source} cannot be imported.", context_settings=anything)(refuse)
