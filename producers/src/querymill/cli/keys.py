"""``querymill keys``: the API keys of the gateway."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.table import Table

from querymill.cli.jobs import JsonOption
from querymill.cli.terminal import Console, echo
from querymill.keys import ALL, GRACE_S, ApiKey, Keyring, Scope
from querymill_shared.settings import Settings

KeyId = Annotated[str, typer.Argument(metavar="ID", help="the id of the key, as `querymill keys list` shows it")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="API keys of the gateway: make, list, rotate, revoke.", no_args_is_help=True)
    group.command("add")(add)
    group.command("list")(list_keys)
    group.command("rotate")(rotate)
    group.command("revoke")(revoke)
    app.add_typer(group, name="keys")


def add(
    name: Annotated[str, typer.Argument(help="what the key is for, such as web-backend")],
    scope: Annotated[
        list[Scope] | None, typer.Option(help="what it allows; give it again for more (default: search)")
    ] = None,
    collection: Annotated[
        list[str] | None, typer.Option(help=f"a collection that it may see, or {ALL} for all; give it again for more")
    ] = None,
    default_collection: Annotated[
        str | None, typer.Option(help="what POST /api/chat/vectors searches if a request names none")
    ] = None,
    rate: Annotated[int | None, typer.Option(min=1, help="requests per minute (default: no limit)")] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="waiting requests and streams at once (default: no limit)")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a key and print it. It is shown once: the board holds a hash."""
    named = [*(collection or ()), *([default_collection] if default_collection else ())]
    if not named:
        raise typer.BadParameter(f"name at least one collection, or {ALL} for all", param_hint="--collection")
    with _keyring() as keyring:
        key, written = keyring.add(
            name,
            scopes=scope or [Scope.SEARCH],
            collections=named,
            default_collection=default_collection,
            requests_per_minute=rate,
            concurrency=concurrency,
        )
        is_first = len(keyring.all()) == 1
    _show(key, written, as_json=as_json)
    if is_first and not as_json:
        Console(stderr=True, soft_wrap=True).print(
            "It is the first key: from now on the gateway and its console ask everybody for one, on this machine too."
        )


def list_keys(as_json: JsonOption = False) -> None:
    """List the keys, also the revoked ones. No secret is shown."""
    with _keyring() as keyring:
        found = keyring.all()
    if as_json:
        echo(json.dumps([_facts(key) for key in found]))
        return
    table = Table(box=None)
    table.add_column("id", min_width=12, no_wrap=True)
    for heading in ("name", "scopes", "collections", "limits", "made", "state"):
        table.add_column(heading)
    for key in found:
        facts = _facts(key)
        limits = f"{key.requests_per_minute or 'any'}/min, {key.concurrency or 'any'} at once"
        state = "revoked" if key.revoked else "valid"
        names = (", ".join(facts["scopes"]), ", ".join(facts["collections"]))
        table.add_row(key.id, key.name, *names, limits, facts["created"][:10], state)
    Console().print(table)


def rotate(
    key: KeyId,
    grace: Annotated[float, typer.Option(min=0, help="seconds for which the old secret stays valid")] = GRACE_S,
    as_json: JsonOption = False,
) -> None:
    """Give a key a new secret and print it. No gateway has to be started again."""
    with _keyring() as keyring:
        made, written = keyring.rotate(key, grace_s=grace)
    _show(made, written, as_json=as_json)


def revoke(key: KeyId, as_json: JsonOption = False) -> None:
    """Make a key invalid at once."""
    with _keyring() as keyring:
        revoked = keyring.revoke(key)
    echo(json.dumps(_facts(revoked)) if as_json else f"{revoked.id} ({revoked.name}) is revoked")


def _show(key: ApiKey, written: str, *, as_json: bool) -> None:
    if as_json:
        echo(json.dumps(_facts(key) | {"key": written}))
        return
    echo(written)
    Console(stderr=True).print(f"Key {key.id} ({key.name}). It is shown once; send it as: Authorization: Bearer …")


def _facts(key: ApiKey) -> dict[str, Any]:
    """Return what may be shown of a key."""
    return key.model_dump(mode="json", exclude={"secrets", "created", "revoked", "scopes", "collections"}) | {
        "scopes": sorted(key.scopes),
        "collections": sorted(key.collections),
        "created": _time(key.created),
        "revoked": None if key.revoked is None else _time(key.revoked),
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


@contextmanager
def _keyring() -> Iterator[Keyring]:
    with closing(Keyring.connect(Settings())) as keyring:
        yield keyring
