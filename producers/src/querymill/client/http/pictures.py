"""A snapshot of a job, from what a gateway shows of it."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import to_json

from querymill_shared.board.attempts import Attempt, AttemptPart, encode_facts, encode_past
from querymill_shared.board.picture import Picture, Record, SetbackCounts, Step
from querymill_shared.contracts.costs import ModelCost
from querymill_shared.contracts.jobs import JobRequest, decode_request
from querymill_shared.hits import BoardHit

_SETBACKS: Final = ("deaths", "failures", "outages", "conflicts", "pauses")


def picture_of(shown: Mapping[str, Any]) -> Picture:
    """Return the snapshot of a job that a gateway shows.

    Raises:
        LookupError, TypeError, ValueError: It is not what a gateway of this release shows.
    """
    asked = _request(shown.get("request"))
    steps = tuple(map(_step, shown["steps"]))
    record = _record(shown, open_steps=sum(not step.is_closed for step in steps))
    hits = {query: tuple(BoardHit(**hit) for hit in found) for query, found in (shown.get("hits") or {}).items()}
    return Picture(
        record=record,
        steps=steps,
        hits=hits,
        queries=dict(shown.get("queries") or {}),
        request=None if record.state == "done" else asked,
        asked=asked,
    )


def _record(shown: Mapping[str, Any], *, open_steps: int) -> Record:
    created = _seconds(shown["created_at"])
    if created is None:
        raise ValueError("created_at: is null")
    return Record(
        job_id=shown["job_id"],
        kind=shown["kind"],
        collection=shown["collection"],
        lane=shown["lane"],
        state=shown["state"],
        created=created,
        deadline=_seconds(shown["deadline_at"]),
        ended=_seconds(shown["ended_at"]),
        reason=shown["reason"],
        open_steps=open_steps,
        callers=shown["callers"],
        code=shown["code"] or "",
        is_complete=shown["complete"],
        labels=shown.get("labels") or {},
        is_trail=bool(shown.get("is_gone")),
    )


def _step(shown: Mapping[str, Any]) -> Step:
    attempts = [_attempt(each) for each in shown["attempts"]]
    # The last attempt of a step that runs or has ended is the step's own; the others were put back.
    past = attempts if shown["state"] == "waiting" else attempts[:-1]
    parts = attempts[-1].parts if attempts and shown["state"] in ("done", "failed") else ()
    return Step(
        name=shown["name"],
        state=shown["state"],
        attempt=shown["attempt"],
        reason=shown["reason"],
        started=_seconds(shown["started_at"]),
        ended=_seconds(shown["ended_at"]),
        counts=SetbackCounts(**{name: shown["put_back"].get(name, 0) for name in _SETBACKS}),
        queued=_seconds(shown["queued_at"]),
        life=shown["worker"],
        facts=encode_facts(shown["code"], parts),
        past=encode_past(past),
    )


def _attempt(shown: Mapping[str, Any]) -> Attempt:
    return Attempt(
        number=shown["number"],
        queued=_seconds(shown["queued_at"]),
        started=_seconds(shown["started_at"]),
        ended=_seconds(shown["ended_at"]),
        worker=shown["worker"],
        outcome=shown["outcome"],
        code=shown["code"],
        reason=shown["reason"],
        parts=tuple(map(_part, shown["parts"])),
    )


def _part(shown: Mapping[str, Any]) -> AttemptPart:
    known = dict(shown)
    costs = tuple(ModelCost.model_validate(cost) for cost in known.pop("costs", ()))
    return AttemptPart(**known, costs=costs)


def _seconds(written: str | None) -> float | None:
    return None if written is None else datetime.fromisoformat(written).timestamp()


def _request(shown: Mapping[str, Any] | None) -> JobRequest | None:
    if shown is None:
        return None
    with suppress(ValidationError):  # a newer release asked it
        return decode_request(to_json(shown))
    return None
