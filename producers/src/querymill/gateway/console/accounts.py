"""The accounts with providers as pages show them: by model and address, those in trouble first. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

#: A provider that failed longer ago than this, in seconds, and was not asked since, is no news.
FORGOTTEN_S: Final = 600.0


def refused_lately(
    refusals: Mapping[str, Sequence[Mapping[str, Any]]], now: float
) -> dict[tuple[str, str], Mapping[str, Any]]:  # fmt: skip
    """Return what each model at an address refused last, by both, if that is no older than `FORGOTTEN_S`."""
    return {
        (model, each["address"]): each
        for model, refused in refusals.items()
        for each in reversed(refused)
        if now - each["at"] < FORGOTTEN_S
    }


def asked_lately(states: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the accounts with providers, by model, those in trouble first.

    One that was asked nothing for an hour is left out if its model was asked elsewhere: the board remembers a model at
    each address that it ever had.
    """
    busy = {state["model"] for state in states if not state.get("is_idle")}
    models = list(dict.fromkeys(state["model"] for state in states))
    shown = [state for state in states if not (state.get("is_idle") and state["model"] in busy)]
    ordered = sorted(shown, key=_severity, reverse=True)
    return sorted(_once(ordered), key=lambda state: models.index(state["model"]))


def _once(states: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the first state of each model at an address: of keys that were changed, the worst."""
    seen: set[tuple[str, str]] = set()
    for state in states:
        key = (state["model"], state.get("address", ""))
        if key not in seen:
            seen.add(key)
            yield state


def _severity(state: Mapping[str, Any]) -> tuple[int, float, int]:
    return ("closed", "half-open", "open").index(state["breaker"]), state["paused_s"], state["failures"]
