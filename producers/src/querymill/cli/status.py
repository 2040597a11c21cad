"""``querymill status``: what the fleet does, on the embedded stack or on services of one's own."""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from querymill.cli.exits import Exit, Unreachable, WrongUse
from querymill.cli.set_aside import refused_texts
from querymill.cli.set_aside import table_of as table_of_refused
from querymill.cli.stack import DataOption, JsonOption, names_own_services, stack_in
from querymill.cli.terminal import Console, echo
from querymill.fleet import figures, tables
from querymill_shared.settings import Settings
from querymill_shared.urls import mask

if TYPE_CHECKING:
    import querymill_embedded as embedded


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(status)


def status(
    data: DataOption = None,
    set_aside: Annotated[
        bool, typer.Option("--set-aside", help="list the texts that a provider refused, instead")
    ] = False,
    collection: Annotated[
        list[str] | None, typer.Option(help="with --set-aside: only those of this collection (repeatable)")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the fleet's jobs, queues and model providers, and every part of the embedded stack.

    If REDIS_URL or DATABASE_URL is set, the figures are those of the services that the settings name.
    """
    if set_aside:
        _print_set_aside(data, collection or [], as_json=as_json)
        return
    shown = _on_own_services() if data is None and names_own_services() else _on_the_stack(data)
    if as_json:
        parts = [
            {"name": p.name, "state": p.state, "pid": p.pid, "address": p.address, "log": str(p.log),
             "uptime_s": p.uptime_s, "restarts": p.restarts}
            for p in shown.parts
        ]  # fmt: skip
        echo(json.dumps({"data": shown.data, "parts": parts, "fleet": shown.fleet}))
    else:
        _print(shown)
    if not shown.is_well:
        raise typer.Exit(Exit.UNREACHABLE)


def _print_set_aside(data: Path | None, collections: Sequence[str], *, as_json: bool) -> None:
    own = data is None and names_own_services()
    settings = (
        Settings() if own else Settings(redis_url=stack_in(data).environment()["REDIS_URL"], celery_broker_url="")
    )
    texts = list(refused_texts(settings, collections))
    if as_json:
        echo(json.dumps([{"collection": name} | text.model_dump(mode="json") for name, text in texts]))
    elif texts:
        Console().print(table_of_refused(texts))
    else:
        echo("no text is set aside")


@dataclass(frozen=True, slots=True)
class _Shown:
    """What is shown: the folder and the parts of an embedded stack, if any, and the fleet's figures."""

    data: str | None
    parts: "list[embedded.PartStatus]"
    fleet: dict[str, Any] | None

    @property
    def is_well(self) -> bool:
        """Whether all parts run, the board answers and a worker is alive."""
        if self.fleet is None or not self.fleet["workers"]:
            return False
        return all(part.state == "running" for part in self.parts)


def _on_own_services() -> _Shown:
    settings = Settings()
    with suppress(WrongUse):  # the stack is not installed, and not needed
        stack = stack_in(None)
        # The exports of `querymill up` name the stack.
        if stack.status() and stack.environment()["REDIS_URL"] == settings.redis_url:
            return _on_the_stack(None)
    fleet = figures(settings)
    if fleet is None:
        raise Unreachable(f"the board does not answer at {mask(settings.redis_url)}")
    return _Shown(None, [], fleet)


def _on_the_stack(data: Path | None) -> _Shown:
    stack = stack_in(data)
    parts = stack.status()
    if not parts:
        return _Shown(str(stack.data), [], None)
    settings = Settings(redis_url=stack.environment()["REDIS_URL"], celery_broker_url="")
    return _Shown(str(stack.data), parts, figures(settings))


def _print(shown: _Shown) -> None:
    console = Console()
    if shown.parts:
        console.print(table_of(shown.parts))
    elif shown.data is not None:
        console.print(f"nothing runs in {shown.data}")
    for part_of_fleet in tables(shown.fleet) if shown.fleet else ():
        console.print(part_of_fleet)


def table_of(parts: "Iterable[embedded.PartStatus]") -> Table:
    """Lay the parts of a stack out, a row each."""
    table = Table("part", "state", "pid", "address", "restarts", box=None)
    table.caption, table.caption_justify = "what they log: querymill logs PART", "left"
    for part in parts:
        state = Text(part.state, "green" if part.state == "running" else "red")
        pid = "" if part.pid is None else str(part.pid)
        table.add_row(part.name, state, pid, part.address, str(part.restarts))
    return table
