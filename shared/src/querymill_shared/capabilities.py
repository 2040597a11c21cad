"""What the fleet has learned of the models it asks: which parameters one refuses, and what else is special about it.

Nothing is guessed from a model's name. A finding is kept on the board per address and model, with the time, so that one
worker learns for all. It is forgotten after a week, because servers are upgraded.
"""

import json
from collections.abc import Collection
from typing import Any, Final

import redis

from querymill_shared.board.clock import read_clock
from querymill_shared.urls import mask
from querymill_shared.values import value

#: One hash for all models. Its name stands among the accounts', which workers may write and gateways may read.
KEY: Final = "qm:account:learned"
KEPT_S: Final = 7 * 86_400
#: More is not kept: the findings of a model are few, and so are models.
MAX_FINDINGS: Final = 1_000


@value
class Finding:
    """Something learned of a model at an address. ``at`` is in seconds since the epoch by the board's clock."""

    address: str
    model: str
    what: str
    at: float


def findings(client: "redis.Redis") -> list[Finding]:
    """Return what is known of all models, by model, address and finding. What cannot be read is left out."""
    now = read_clock(client)
    kept: dict[Any, Any] = client.hgetall(KEY)
    found = [_finding(_text(field), _text(at)) for field, at in kept.items()]
    known = [each for each in found if each is not None and now - each.at < KEPT_S]
    return sorted(known, key=lambda each: (each.model, each.address, each.what))


def findings_of(client: "redis.Redis", address: str, model: str) -> list[Finding]:
    """Return what is known of a model at an address."""
    return [each for each in findings(client) if (each.address, each.model) == (mask(address), model)]


def keep_findings(client: "redis.Redis", address: str, model: str, whats: Collection[str]) -> None:
    """Keep what was learned of a model at an address, and forget what is too old."""
    now = read_clock(client)
    kept: dict[Any, Any] = client.hgetall(KEY)
    known = {field: _finding(_text(field), _text(at)) for field, at in kept.items()}
    old = [field for field, each in known.items() if each is None or now - each.at >= KEPT_S]
    if old:
        client.hdel(KEY, *old)
    if len(kept) - len(old) < MAX_FINDINGS:
        client.hset(KEY, mapping={json.dumps([mask(address), model, what]): int(now * 1000) for what in whats})


def _finding(field: str, at: str) -> Finding | None:
    try:
        address, model, what = json.loads(field)
        return Finding(str(address), str(model), str(what), int(at) / 1000)
    except (ValueError, TypeError):
        return None


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
