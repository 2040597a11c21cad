"""Commands of other distributions: whatever is installed and declares them joins the command line."""

from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint

import typer

from querymill.cli.exits import WrongUse
from querymill.install_hints import install_hint


def add_commands(app: typer.Typer, entries: Iterable[EntryPoint], *, lacking: Mapping[str, str] | None = None) -> None:
    """Add the command of each entry point, in the order of their names.

    A command that cannot be imported is added all the same: it says why when it is used, and the others work. So does
    one that no entry point declares, if ``lacking`` names the extra that installs it.
    """
    found = sorted(entries, key=lambda entry: entry.name)
    for name, extra in (lacking or {}).items():
        if extra and name not in {entry.name for entry in found}:
            _add_refusing(app, name, "Not installed.", f"{name} is not installed; {install_hint(extra)}")
    for entry in found:
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
    _add_refusing(app, entry.name, f"Unavailable: {source} cannot be imported.", reason)


def _add_refusing(app: typer.Typer, name: str, about: str, reason: str) -> None:
    def refuse() -> None:
        raise WrongUse(reason)

    # Whatever is given to it, the reason comes first.
    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    app.command(name, help=about, context_settings=anything)(refuse)
