"""``querymill keys``: the API keys of the gateway."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Final

import typer
from rich.table import Table

from querymill.cli.exits import WrongUse
from querymill.cli.jobs import JsonOption
from querymill.cli.terminal import Console, echo
from querymill.keys import ALL, CALLBACK_GRACE_S, GRACE_S, ApiKey, Keyring, Scope
from querymill_shared.callback_secrets import read_masters
from querymill_shared.contracts.costs import NANOS, money
from querymill_shared.costs import Budget
from querymill_shared.settings import Settings

#: The largest budget of a day, in nanos: sums of it are still whole numbers in every language that reads them.
MAX_BUDGET: Final = 1_000_000 * NANOS
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
    about = "API keys of the gateway, and the secrets that sign their callbacks: make, list, budget, rotate, revoke."
    group = typer.Typer(help=about, no_args_is_help=True)
    group.command("add")(add)
    group.command("list")(list_keys)
    group.command("budget")(budget)
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
    budget: Annotated[
        str | None, typer.Option(help="what it may spend in a day of UTC, such as 5.00 (default: no limit)")
    ] = None,
    expires: ExpiresOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a key and print it. It is shown once: the board holds a hash."""
    nanos = None if budget is None else read_amount(budget, "--budget")
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
        if nanos is not None:
            keyring.set_budget(key.id, nanos)
        is_first = len(keyring.all()) == 1
    _show(key, written, as_json=as_json)
    if is_first and not as_json:
        Console(stderr=True, soft_wrap=True).print(
            "It is the first key: from now on the gateway and its console ask everybody for one, on this machine too."
        )


def list_keys(as_json: JsonOption = False) -> None:
    """List the keys, also the revoked ones, and when a gateway last saw each, to the minute. No secret is shown."""
    with _keyring() as keyring:
        found, uses, budgets = keyring.all(), keyring.uses(), keyring.budgets()
    if as_json:
        seen = {key.id: {"last_used": _time_of(uses.get(key.id))} for key in found}
        echo(json.dumps([_facts(key) | seen[key.id] | _facts_of(budgets.get(key.id)) for key in found]))
        return
    currency = Settings().querymill_currency
    table = Table(box=None)
    table.add_column("id", min_width=12, no_wrap=True)
    for heading in ("name", "scopes", "collections", "limits", "made", "last used", "state"):
        table.add_column(heading)
    for key in found:
        facts = _facts(key)
        limits = f"{key.requests_per_minute or 'any'}/min, {key.concurrency or 'any'} at once"
        limits += _told(budgets.get(key.id), currency)
        used = (_time_of(uses.get(key.id)) or "never")[:16].replace("T", " ")
        names = (", ".join(facts["scopes"]), ", ".join(facts["collections"]))
        table.add_row(key.id, key.name, *names, limits, facts["created"][:10], used, _state(key))
    Console().print(table)


def budget(
    key: KeyId,
    amount: Annotated[str, typer.Argument(help="what it may spend in a day of UTC, such as 5.00; none: no limit")],
    as_json: JsonOption = False,
) -> None:
    """Set what a key may spend in a day, in QUERYMILL_CURRENCY, at the prices of QUERYMILL_PRICES.

    It holds at once. Once 80 % are spent, expansions, judgements of hits and of answers are left out; once all is, the
    gateway refuses what may call a model until 00:00 UTC. Calls of models without a price are free.
    """
    nanos = None if amount == "none" else read_amount(amount, "AMOUNT")
    with _keyring() as keyring:
        changed = keyring.set_budget(key, nanos)
        now = keyring.budgets().get(key)
    currency = Settings().querymill_currency
    said = "has no budget" if nanos is None else f"may spend {money(nanos, currency)} a day"
    echo(json.dumps(_facts(changed) | _facts_of(now)) if as_json else f"{changed.id} ({changed.name}) {said}")


def read_amount(written: str, hint: str) -> int:
    """Read an amount of money, as nanos.

    >>> read_amount("0.05", "AMOUNT")
    50000000

    Raises:
        typer.BadParameter: It is no amount above 0.
    """
    try:
        nanos = int(Decimal(written) * NANOS)
    except (InvalidOperation, OverflowError, ValueError):
        nanos = 0
    if not 0 < nanos <= MAX_BUDGET:
        raise typer.BadParameter("must be an amount above 0 and up to 1,000,000, such as 5.00", param_hint=hint)
    return nanos


def _facts_of(budget: Budget | None) -> dict[str, Any]:
    if budget is None:
        return {"budget": None}
    return {"budget": {"nanos": budget.budget, "spent_nanos": budget.spent, "allows": budget.allows}}


def _told(budget: Budget | None, currency: str) -> str:
    if budget is None:
        return ""
    return f", {money(budget.spent, currency)} of {money(budget.budget, currency)} today"


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
