"""Every call to the board as a value: a script, its keys and arguments, and how to read what it returns.

The synchronous and the asynchronous board send the same calls, so the protocol is written once.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from querymill_shared.board import keys
from querymill_shared.board.picture import Claim, Due, Outcome, Picture, Record, Step, Verdict
from querymill_shared.contracts.errors import IdempotencyConflict, UnknownJob, UnreadableJob
from querymill_shared.contracts.events import (
    Cancelled,
    Done,
    Event,
    Failed,
    ProgressEvent,
    Queued,
    StageFinished,
)
from querymill_shared.contracts.jobs import JobRequest, decode_request, fingerprint
from querymill_shared.hits import PackedHits, pack

T = TypeVar("T")

#: The sweeper settles a job this long before its deadline, so that the result is in time.
SETTLE_MARGIN_MS = 60
#: If the last worker of a job does not settle it, the sweeper does so after this long.
SETTLE_GRACE_MS = 2_000
#: The board remembers an idempotency key for one day.
IDEMPOTENCY_TTL_MS = 86_400_000
#: Dead jobs stay on the board for one week, for an operator to look at.
DEAD_TTL_MS = 7 * 86_400_000


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One run of a script. ``parse`` turns what the script returns into a value of this module."""

    script: str
    keys: Sequence[str]
    args: Sequence[str | int | float]
    parse: Callable[[Any], T]


def submit(request: JobRequest, *, ring_grace_s: float, idempotency_key: str | None) -> Call[tuple[str, bool]]:
    """Accept a job. Return its id and whether it is new.

    Raises (when parsed):
        IdempotencyConflict: The key was already used for a different request.
    """
    scope = None if idempotency_key is None else f"{request.collection}\n{idempotency_key}"
    job_id = keys.new_job_id(scope)

    def parse(returned: list[str]) -> tuple[str, bool]:
        if returned[0] == "conflict":
            raise IdempotencyConflict(idempotency_key or "", returned[1])
        return returned[1], returned[0] == "created"

    names = keys.of_job(job_id, "job", "steps", "events", "due", "recent", "request")
    return Call(
        "submit",
        [*names, keys.idempotency(job_id, scope)],
        [
            job_id,
            fingerprint(request),
            request.kind,
            request.collection,
            request.lane,
            request.model_dump_json(),
            int((request.deadline or 0) * 1000),
            SETTLE_MARGIN_MS,
            int(ring_grace_s * 1000),
            0 if scope is None else IDEMPOTENCY_TTL_MS,
            Queued(stages=request.steps).model_dump_json(),
            *request.steps,
        ],
        parse,
    )


def claim(job_id: str, step: str, *, lease_s: float) -> Call[Claim | None]:
    """Claim a step and start its lease. Return None if there is nothing left to do.

    Raises (when parsed):
        UnreadableJob: This release cannot read the request.
    """

    def parse(returned: list[Any]) -> Claim | None:
        if returned[0] != "claimed":
            return None
        _, attempt, left_ms, request, created = returned
        expires_at = None if left_ms < 0 else time.monotonic() + left_ms / 1000
        known, unreadable = _request(request)
        if known is None:
            raise UnreadableJob(job_id, unreadable)
        return Claim(job_id, step, attempt, known, expires_at, int(created) / 1000)

    names = keys.of_job(job_id, "job", "steps", "events", "due", "request")
    return Call("claim", names, [job_id, step, int(lease_s * 1000)], parse)


def extend(held: Claim, *, lease_s: float) -> Call[bool]:
    """Renew a lease. Return False if this attempt no longer holds the step."""
    names = keys.of_job(held.job_id, "job", "steps", "due")
    return Call("extend", names, [held.job_id, held.step, held.attempt, int(lease_s * 1000)], bool)


def take_queries(held: Claim, texts: Sequence[str]) -> Call[list[str]]:
    """Return the queries that no other step of the job searches, in the given order."""
    return Call("take_queries", keys.of_job(held.job_id, "job", "queries"), [held.step, *texts], list)


def finish(held: Claim, outcome: Outcome) -> Call[Picture | None]:
    """Close a step and store its hits. If this attempt no longer holds the step, store nothing and return None."""
    event = StageFinished(stage=held.step, state=outcome.state, ms=outcome.ms, reason=outcome.reason or None)
    packed = [part for query, hits in outcome.hits.items() for part in (query, pack(hits))]
    return Call(
        "finish",
        keys.of_job(held.job_id, "job", "steps", "events", "due", "hits", "queries"),
        [
            held.job_id,
            held.step,
            held.attempt,
            outcome.state,
            outcome.reason,
            json.dumps(outcome.notes),
            event.model_dump_json(),
            SETTLE_GRACE_MS,
            *packed,
        ],
        lambda returned: _picture(returned[1], held.job_id, held.request) if returned[0] == "closed" else None,
    )


def add_steps(job_id: str, names: Sequence[str], *, ring_grace_s: float) -> Call[list[str]]:
    """Add steps to a job. Return those that are new."""
    return Call(
        "add_steps", keys.of_job(job_id, "job", "steps", "due"), [job_id, int(ring_grace_s * 1000), *names], list
    )


def postpone(held: Claim, *, delay_s: float, reason: str) -> Call[bool]:
    """Put a step back, to be retried after a delay. Return False if this attempt no longer holds the step."""
    event = StageFinished(stage=held.step, state="retrying", reason=reason)
    return Call(
        "postpone",
        keys.of_job(held.job_id, "job", "steps", "events", "due"),
        [held.job_id, held.step, held.attempt, int(delay_s * 1000), reason, event.model_dump_json()],
        bool,
    )


def tell(job_id: str, event: ProgressEvent, held: Claim | None) -> Call[bool]:
    """Append an event. Return False if the job has ended or this attempt no longer holds the step."""
    fence: list[str | int] = [] if held is None else [held.step, held.attempt]
    names = keys.of_job(job_id, "job", "steps", "events")
    return Call("tell", names, [event.type, event.model_dump_json(), *fence], bool)


def settle(job_id: str, verdict: Verdict, *, result_ttl_s: float) -> Call[bool]:
    """End a job. Return False if it has already ended."""
    event = last_event(verdict)
    ttl = DEAD_TTL_MS if verdict.state == "dead" else int(result_ttl_s * 1000)
    return Call(
        "settle",
        keys.of_job(job_id, "job", "steps", "events", "due", "hits", "queries", "request", "result", "ended"),
        [
            job_id,
            verdict.state,
            verdict.reason,
            verdict.result,
            event.type,
            event.model_dump_json(),
            ttl,
            0 if verdict.state == "done" else 1,
        ],
        bool,
    )


def release(job_id: str) -> Call[bool]:
    """Delete an ended job before its result expires. Return False if it has not ended or does not exist."""
    names = keys.of_job(job_id, "job", "steps", "events", "hits", "queries", "request", "result", "ended")
    return Call("release", names, [], bool)


def picture(job_id: str) -> Call[Picture]:
    """Return a snapshot of a job.

    Raises (when parsed):
        UnknownJob: No job has this id.
        UnreadableJob: The record is malformed.
    """
    names = keys.of_job(job_id, "job", "steps", "hits", "queries", "request")

    def parse(returned: tuple[Sequence[Any], str]) -> Picture:
        try:
            shown = _picture(returned[0], job_id, None)
        except (KeyError, ValueError, TypeError) as error:
            raise UnreadableJob(job_id, f"its record is malformed ({type(error).__name__})") from error
        if shown.record.is_over and not returned[1]:
            return shown
        request, unreadable = _request(returned[1])
        return replace(shown, request=request, unreadable=unreadable)

    return Call("picture", names, [], parse)


def sweep(shard: str, *, ring_grace_s: float, limit: int = 100) -> Call[list[Due]]:
    """Return the due entries of one shard. Each becomes due again on its own until its job ends."""
    start = keys.prefix(shard)
    return Call(
        "sweep",
        [start + "due"],
        [start, int(ring_grace_s * 1000), limit],
        lambda returned: [_due(*entry.split(" ")) for entry in returned],
    )


def _due(job_id: str, step: str) -> Due:
    return Due(job_id, None if step.startswith("@") else step, past_deadline=step == "@deadline")


def last_event(verdict: Verdict) -> Event:
    """Return the event that reports how a job ended."""
    match verdict.state:
        case "done":
            return Done(complete=verdict.complete)
        case "failed" | "dead":
            return Failed(reason=verdict.reason)
        case "cancelled":
            return Cancelled()


def _request(text: str) -> tuple[JobRequest | None, str]:
    """Read a request. If that fails, return None and the rules it breaks, without quoting it."""
    try:
        return decode_request(text), ""
    except ValidationError as error:
        broken = [f"{'.'.join(map(str, part['loc'])) or 'request'}: {part['type']}" for part in error.errors()]
        return None, f"this release cannot read its request ({', '.join(broken[:3])})"


def _pairs(flat: Sequence[str]) -> dict[str, str]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _seconds(ms: str | None) -> float | None:
    return int(ms) / 1000 if ms and int(ms) else None


def _picture(returned: Sequence[Any], job_id: str, request: JobRequest | None) -> Picture:
    record, steps, hits, queries = (_pairs(part) for part in returned)
    if not record:
        raise UnknownJob(job_id)
    return Picture(
        record=_record(record),
        steps=_steps(steps, record["order"].split(" ")),
        hits=PackedHits(hits),
        queries=queries,
        request=request,
    )


def _record(fields: Mapping[str, str]) -> Record:
    return Record(
        job_id=fields["id"],
        kind=fields["kind"],
        collection=fields["collection"],
        lane=fields["lane"],
        state=fields["state"],  # type: ignore[arg-type]  # only the scripts of this package write it
        created=int(fields["created"]) / 1000,
        deadline=_seconds(fields["deadline"]),
        ended=_seconds(fields.get("ended")),
        reason=fields.get("reason", ""),
        open_steps=int(fields["open"]),
        told=_seconds(fields.get("told")),
    )


def _steps(fields: Mapping[str, str], names: Sequence[str]) -> tuple[Step, ...]:
    return tuple(
        Step(
            name=name,
            state=fields[f"{name}.state"],  # type: ignore[arg-type]  # only the scripts of this package write it
            attempt=int(fields[f"{name}.attempt"]),
            reason=fields.get(f"{name}.reason", ""),
            started=_seconds(fields.get(f"{name}.started")),
            ended=_seconds(fields.get(f"{name}.ended")),
            notes=json.loads(fields.get(f"{name}.notes") or "{}"),
        )
        for name in names
    )
