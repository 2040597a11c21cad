"""``querymill keys``: the API keys of the gateway."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import typer
from rich.table import Table

from querymill.cli.exits import WrongUse
from querymill.cli.jobs import JsonOption
from querymill.cli.terminal import Console, echo
from querymill.keys import ALL, CALLBACK_GRACE_S, GRACE_S, ApiKey, Keyring, Scope
from querymill_shared.callback_secrets import read_masters
from querymill_shared.settings import Settings

KeyId = Annotated[str, typer.Argument(metavar="ID", help="the id of the key, as `querymill keys list` shows it")]

#: The end of a key as it is written.
ExpiresOption = Annotated[
    str | None,
    typer.Option(metavar="DAY|TIME", help="the last day on which it is valid, such as 2027-01-31 (UTC), or how long: "
                 "90d, 12h (default: for ever)"),
]  # fmt: skip
_LENGTH: Final = re.compile(r"(?P<number>[1-9][0-9]{0,4})(?P<unit>[hd])")
_UNITS: Final = {"h": 3_600, "d": 86_400}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    about = "API keys of the gateway, and the secrets that sign their callbacks: make, list, rotate, revoke."
    group = typer.Typer(help=about, no_args_is_help=True)
    group.command("add")(add)
    group.command("list")(list_keys)
    group.command("rotate")(rotate)
    group.command("revoke")(revoke)
    group.command("callback-secret")(callback_secret)
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
    expires: ExpiresOption = None,
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
            expires=read_end(expires),
        )
        is_first = len(keyring.all()) == 1
    _show(key, written, as_json=as_json)
    if is_first and not as_json:
        Console(stderr=True, soft_wrap=True).print(
            "It is the first key: from now on the gateway and its console ask everybody for one, on this machine too."
        )


def list_keys(as_json: JsonOption = False) -> None:
    """List the keys, also the revoked ones, and when a gateway last saw each, to the minute. No secret is shown."""
    with _keyring() as keyring:
        found, uses = keyring.all(), keyring.uses()
    if as_json:
        echo(json.dumps([_facts(key) | {"last_used": _time_of(uses.get(key.id))} for key in found]))
        return
    table = Table(box=None)
    table.add_column("id", min_width=12, no_wrap=True)
    for heading in ("name", "scopes", "collections", "limits", "made", "last used", "state"):
        table.add_column(heading)
    for key in found:
        facts = _facts(key)
        limits = f"{key.requests_per_minute or 'any'}/min, {key.concurrency or 'any'} at once"
        used = (_time_of(uses.get(key.id)) or "never")[:16].replace("T", " ")
        names = (", ".join(facts["scopes"]), ", ".join(facts["collections"]))
        table.add_row(key.id, key.name, *names, limits, facts["created"][:10], used, _state(key))
    Console().print(table)


def rotate(
    key: KeyId,
    grace: Annotated[float, typer.Option(min=0, help="seconds for which the old secret stays valid")] = GRACE_S,
    expires: ExpiresOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a key a new secret and print it. No gateway has to be started again.

    The key keeps its end, unless --expires gives it another.
    """
    with _keyring() as keyring:
        made, written = keyring.rotate(key, grace_s=grace, expires=read_end(expires))
    _show(made, written, as_json=as_json)


def revoke(key: KeyId, as_json: JsonOption = False) -> None:
    """Make a key invalid at once."""
    with _keyring() as keyring:
        revoked = keyring.revoke(key)
    echo(json.dumps(_facts(revoked)) if as_json else f"{revoked.id} ({revoked.name}) is revoked")


def callback_secret(
    key: KeyId,
    grace: Annotated[
        float, typer.Option(min=0, help="seconds for which a secret that it replaces signs beside it")
    ] = CALLBACK_GRACE_S,
    as_json: JsonOption = False,
) -> None:
    """Give a key a new secret that signs the callbacks of its jobs, and print it. It is shown once.

    It is made from QUERYMILL_CALLBACK_SECRET, which must be set here as it is for the workers.
    """
    masters = read_masters(Settings().querymill_callback_secret.get_secret_value())
    if not masters:
        raise WrongUse("QUERYMILL_CALLBACK_SECRET is not set: the secrets of keys are made from it")
    with _keyring() as keyring:
        written = keyring.renew_callback_secret(key, masters[0], grace_s=grace)
    if as_json:
        echo(json.dumps({"id": key, "callback_secret": written}))
        return
    echo(written)
    Console(stderr=True).print("It is shown once; the backend that is called back verifies messages with it.")


def _show(key: ApiKey, written: str, *, as_json: bool) -> None:
    if as_json:
        echo(json.dumps(_facts(key) | {"key": written}))
        return
    echo(written)
    Console(stderr=True).print(f"Key {key.id} ({key.name}). It is shown once; send it as: Authorization: Bearer …")


def _facts(key: ApiKey) -> dict[str, Any]:
    """Return what may be shown of a key."""
    left_out = {"secrets", "created", "revoked", "expires", "scopes", "collections"}
    return key.model_dump(mode="json", exclude=left_out) | {
        "scopes": sorted(key.scopes),
        "collections": sorted(key.collections),
        "created": _time(key.created),
        "revoked": _time_of(key.revoked),
        "expires": _time_of(key.expires),
    }


def _state(key: ApiKey) -> str:
    if key.revoked is not None:
        return "revoked"
    if key.expires is None:
        return "valid"
    said = "expired on" if key.is_expired(time.time()) else "valid until"
    return f"{said} {_time(key.expires)[:16].replace('T', ' ')}"


def read_end(written: str | None) -> float | None:
    """Return when a key is to expire (s since the epoch): after "90d" or "12h", or at the end of a day, "2027-01-31".

    Raises:
        typer.BadParameter: It is neither, or lies in the past.
    """
    if written is None:
        return None
    if length := _LENGTH.fullmatch(written):
        return time.time() + int(length["number"]) * _UNITS[length["unit"]]
    try:
        day = datetime.strptime(written, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise typer.BadParameter(
            "must be a day such as 2027-01-31, or a time such as 90d or 12h", param_hint="--expires"
        ) from None
    end = (day + timedelta(days=1)).timestamp()
    if end <= time.time():
        raise typer.BadParameter(f"{written} has passed", param_hint="--expires")
    return end


def _time_of(seconds: float | None) -> str | None:
    return None if seconds is None else _time(seconds)


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


@contextmanager
def _keyring() -> Iterator[Keyring]:
    with closing(Keyring.connect(Settings())) as keyring:
        yield keyring
