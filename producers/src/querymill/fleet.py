"""How the fleet is doing with its model providers, for people: the figures that /metrics serves to machines."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import redis
from rich.table import Table
from rich.text import Text

from querymill_shared import meters
from querymill_shared.board.connections import open_commands


def figures(redis_url: str) -> dict[str, Any] | None:
    """Return the fleet's providers and counters from a board's server, or None if the server does not answer."""
    try:
        with open_commands(redis_url) as client:
            states = [asdict(account) for account in meters.accounts(client)]
            return {"providers": states, "counts": dict(sorted(meters.read(client).items()))}
    except redis.RedisError:
        return None


def tables(fleet: Mapping[str, Any]) -> list[Table]:
    """Format the figures as tables: providers, then what was granted, cached and shared."""
    providers = Table("provider's model", "breaker", "failures in a row", "paused", box=None)
    for state in fleet["providers"]:
        style = "green" if state["breaker"] == "closed" else "red"
        paused = f"{state['paused_s']:.1f} s" if state["paused_s"] else "no"
        providers.add_row(state["model"], Text(state["breaker"], style), str(state["failures"]), paused)
    counted = Table("calls to providers", "", box=None)
    for said, value in _summary(fleet["counts"]):
        counted.add_row(said, value)
    return [providers, counted]


def _summary(counts: Mapping[str, float]) -> list[tuple[str, str]]:
    granted, waited = _total(counts, "budget_granted"), _total(counts, "budget_waited_ms")
    requests = _total(counts, "batch_size")
    rows = [
        ("granted", f"{granted:,.0f}, after {waited / max(granted, 1):,.0f} ms on average"),
        ("refused: no call could start in time", f"{_total(counts, 'budget_refused'):,.0f}"),
        ("answered / failed / 429", " / ".join(f"{counts.get(f'provider_calls/{how}', 0):,.0f}" for how in _ENDS)),
        (
            "tokens refunded / charged after",
            f"{_plain(counts, 'tokens_refunded')} / {_plain(counts, 'tokens_charged_after')}",
        ),
        ("texts per embedding request", f"{counts.get('batched_texts', 0) / max(requests, 1):,.1f}"),
        ("breaker opened / pauses", f"{_plain(counts, 'breaker_opened')} / {_plain(counts, 'budget_pauses')}"),
    ]
    for sort, own in (("vector", "vector_process_hit"), ("chat", None)):
        levels = [f"{_plain(counts, f'{sort}_{what}')} {said}" for what, said in _LEVELS]
        process = [f"{_plain(counts, own)} in the process"] if own else []
        rows.append((f"{sort}s found", ", ".join(process + levels)))
    return rows


_ENDS = ("answered", "failed", "limited")
_LEVELS = (("hit", "in the fleet's cache"), ("shared", "in flight"), ("takeover", "taken over"), ("miss", "asked for"))


def _total(counts: Mapping[str, float], name: str) -> float:
    return sum(count for key, count in counts.items() if key.startswith(f"{name}/"))


def _plain(counts: Mapping[str, float], name: str) -> str:
    return f"{counts.get(name, 0):,.0f}"
