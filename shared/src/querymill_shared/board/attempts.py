"""The attempts at a step, and their parts: what the board keeps so that a person can see where the time went.

An attempt is one claim of a step by a worker. The board writes what it knows of the last one with the step itself. When
a step is put back, that becomes a line of its past. Nothing here holds text of anybody.
"""

import json
from collections.abc import Sequence
from typing import Any, Final, Literal, get_args

from pydantic_core import from_json, to_json

from querymill_shared.contracts.codes import Code
from querymill_shared.contracts.costs import ModelCost
from querymill_shared.values import value

#: How an attempt ended. ``withdrawn``: the step was put back on purpose, to make room or to wait for something.
AttemptOutcome = Literal["running", "done", "failed", "outage", "refused", "lost", "withdrawn"]
#: A longer reason of an attempt that was put back is cut.
MAX_REASON_CHARS: Final = 200
#: What a past line says by the cause for which the step was put back: see `Counts`.
_OUTCOMES: Final[dict[str, AttemptOutcome]] = {
    "failures": "failed",
    "outages": "outage",
    "conflicts": "withdrawn",
    "pauses": "withdrawn",
    "deaths": "lost",
}
_CODES: Final = get_args(Code)
#: How an attempt that closed its step as failed ended, by the code. Any other code: it failed.
_OF_CODE: Final[dict[str, AttemptOutcome]] = {
    "limit": "refused",
    "budget": "refused",
    "provider_refused": "refused",
    "invalid": "refused",
    "provider_down": "outage",
    "store_down": "outage",
    "lost": "lost",
}


@value
class AttemptPart:
    """A part of an attempt, in the order in which the parts were done.

    ``what`` names it: route, expand, embed, search, rerank, write, judge or fuse, or the flow's own word. Of its ``ms``
    milliseconds, it waited ``waited_ms`` for a provider's limit; both are rounded to two places. It made ``calls``
    calls, found ``cached`` values in a cache, and got ``shared`` ones from calls of other workers. ``costs`` is
    what its calls cost, by model.
    """

    what: str
    ms: float
    waited_ms: float = 0.0
    calls: int = 0
    cached: int = 0
    shared: int = 0
    costs: tuple[ModelCost, ...] = ()


@value
class Attempt:
    """One attempt at a step. Times are in seconds since the epoch by the board's clock.

    ``queued`` is when the step began to wait for it, if that is known. ``worker`` is the
    name of the worker process, "" if it is unknown.
    """

    number: int
    queued: float | None
    started: float | None
    ended: float | None
    worker: str
    outcome: AttemptOutcome
    code: Code | None = None
    reason: str = ""
    parts: tuple[AttemptPart, ...] = ()


def encode_facts(code: Code | None, parts: Sequence[AttemptPart]) -> str:
    """Return what an attempt says of itself, as JSON, or "" if that is nothing: [code, part...]."""
    if code is None and not parts:
        return ""
    return to_json([code, *map(_encoded, parts)]).decode()


def _encoded(part: AttemptPart) -> list[Any]:
    """Return a part without the zeros at its end."""
    costs = [[*cost.model_dump().values()] for cost in part.costs]
    values = [part.what, part.ms, part.waited_ms, part.calls, part.cached, part.shared, costs]
    while len(values) > 2 and not values[-1]:
        values.pop()
    return values


def read_code(facts: str) -> Code | None:
    """Read why an attempt failed, as `read_facts` does, without its parts."""
    try:
        code, *_ = from_json(facts) if facts else (None,)
    except (ValueError, TypeError):
        return None
    return code if code in _CODES else None


def read_facts(facts: str) -> tuple[Code | None, tuple[AttemptPart, ...]]:
    """Read what an attempt says of itself. What is malformed, or of a newer release, is left out."""
    try:
        code, *parts = from_json(facts) if facts else (None,)
        read = tuple(_part(*part) for part in parts)
    except (ValueError, TypeError):
        return None, ()
    return (code if code in _CODES else None), read


def _part(what: Any, ms: Any, *more: Any) -> AttemptPart:
    waited_ms, calls, cached, shared = [*map(_number, more[:4]), 0, 0, 0, 0][:4]
    return AttemptPart(str(what), float(ms), waited_ms, calls, cached, shared, _costs(more[4:5]))


def _costs(listed: Sequence[Any]) -> tuple[ModelCost, ...]:
    """Read what a part cost. A newer release may say more of each model."""
    names = tuple(ModelCost.model_fields)
    return tuple(ModelCost(**dict(zip(names, cost, strict=False))) for costs in listed for cost in costs)


def _number(value: Any) -> Any:
    return value if isinstance(value, int | float) else 0


def encode_past(attempts: Sequence[Attempt]) -> str:
    """Return attempts that were put back as `read_past` reads them."""
    causes = {outcome: cause for cause, outcome in reversed(_OUTCOMES.items())}
    return "\n".join(
        json.dumps([
            each.number, _ms(each.queued), _ms(each.started), each.worker, _ms(each.ended),
            causes.get(each.outcome, "failures"), each.reason, encode_facts(each.code, each.parts),
        ])
        for each in attempts
    )  # fmt: skip


def read_past(past: str) -> tuple[Attempt, ...]:
    """Read the attempts that were put back, the first one first. Malformed lines are left out."""
    return tuple(attempt for line in past.split("\n") if line and (attempt := _past_attempt(line)) is not None)


def _past_attempt(line: str) -> Attempt | None:
    try:
        number, queued, started, life, ended, cause, reason, facts = json.loads(line)
        code, parts = read_facts(str(facts or ""))
        return Attempt(
            number=int(number),
            queued=_seconds(queued),
            started=_seconds(started),
            ended=_seconds(ended),
            worker=worker_of(str(life or "")),
            outcome=_OUTCOMES.get(str(cause), "failed"),
            code=code or ("lost" if cause == "deaths" else None),
            reason=str(reason or ""),
            parts=parts,
        )
    except (ValueError, TypeError):
        return None


def last_outcome(state: str, code: str | None) -> AttemptOutcome:
    """Return how the attempt that holds or closed a step ended."""
    if state == "done":
        return "done"
    return _OF_CODE.get(code or "", "failed") if state == "failed" else "running"


def worker_of(life: str) -> str:
    """Return the name of the worker process, which stays the same when it is started again."""
    return life.rpartition("#")[0] or life


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)


def _seconds(ms: Any) -> float | None:
    return int(ms) / 1000 if ms else None
