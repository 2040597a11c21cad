"""Every call to the board as a value: a script, its keys and arguments, and how to read what it returns.

The synchronous and the asynchronous board send the same calls, so the protocol is written once.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

from pydantic_core import to_json

from querymill_shared.board import keys
from querymill_shared.board.attempts import MAX_REASON_CHARS, AttemptPart, encode_facts
from querymill_shared.board.labels import read_labels
from querymill_shared.board.pace import NO_PACES, QueuePace
from querymill_shared.board.picture import (
    Alone,
    Cause,
    Claim,
    Claims,
    Ended,
    Outcome,
    Picture,
    SharedClaim,
    Verdict,
)
from querymill_shared.board.replies import MALFORMED, accepted_s, counts_of, is_version, picture_of, request_of
from querymill_shared.contracts.codes import Code
from querymill_shared.contracts.errors import UnknownJob, UnreadableJob
from querymill_shared.contracts.events import Cancelled, Done, Event, Failed, ProgressEvent, StageFinished
from querymill_shared.hits import pack
from querymill_shared.queues import Queue
from querymill_shared.tracing import traceparent_of
from querymill_shared.values import value

T = TypeVar("T")

#: The sweeper settles a job this long before its deadline, so that the result is in time.
SETTLE_MARGIN_MS = 60
#: If the last worker of a job does not settle it, the sweeper does so after this long.
SETTLE_GRACE_MS = 2_000
#: The picture of a job that goes on is returned, for its ranking to be told, at most this often.
TELL_EVERY_MS = 100
#: A step that a worker holds is left alone for this long, in seconds, if nobody renews it. The same holds
#: for a step whose worker is on no list, which only another program can bring about.
HELD_S = 60.0
#: A step that a worker cannot read is rung again after this long. The wait doubles with every worker that leaves it.
LEAVE_MS = 50
#: The field that counts each cause, after the name of the step.
COUNTERS: Mapping[Cause, str] = {
    "failure": "failures",
    "outage": "outages",
    "conflict": "conflicts",
    "pause": "pauses",
}
#: Dead jobs stay on the board for one week, for an operator to look at.
DEAD_TTL_MS = 7 * 86_400_000

#: A job that holds a forgotten text stays this long after its end, for those who wait to read how it ended. In ms.
READABLE_MS = 2_000

#: The request of a job that is done stays on the board if it is no longer than this, and read only.
MAX_KEPT_REQUEST_BYTES = 8_192

#: A note on the backlog that is older than this refuses no work.
BACKLOG_TTL_MS = 3_000
#: Nothing waits.
NO_BACKLOG: Final[Mapping[str, float]] = MappingProxyType({})


@value
class ScriptCall(Generic[T]):
    """One run of a script. ``parse`` turns what the script returns into a value of this module."""

    script: str
    keys: Sequence[str]
    args: Sequence[str | int | float]
    parse: Callable[[Any], T]


@value
class UnreadRequest:
    """A step that was claimed, of a job whose request this release cannot read. ``broken`` names fields and rules."""

    job_id: str
    step: str
    attempt: int
    broken: str
    life: str = ""


@value
class VersionUnknown:
    """The version of a write cannot be told before the stores were asked for larger ones, ``base_us`` or above."""

    number: int
    base_us: int


@value
class LifeUnlisted:
    """The board does not have a life on its list of worker processes: nobody would notice its death."""


def claim(
    job_id: str, step: str, *, lease_s: float, life: str = "", limit: int = 1
) -> ScriptCall[Claims | list[UnreadRequest] | VersionUnknown | LifeUnlisted]:
    """Claim a step, and up to ``limit`` - 1 further ones of its queue."""

    def parse(returned: list[Any]) -> Claims | list[UnreadRequest] | VersionUnknown | LifeUnlisted:
        if returned[0] == "asked":
            return VersionUnknown(int(returned[1]), int(returned[2]))
        if returned[0] == "unlisted":
            return LifeUnlisted()
        if returned[0] != "claimed":
            return Claims()
        _, claimed, left_ms, request, created, left, age_ms, accepted_us, alone_ms, ahead_ms, trace, labels, owner = (
            returned
        )
        now = time.monotonic()
        expires_at = None if left_ms < 0 else now + left_ms / 1000
        known, unreadable = request_of(request)
        if known is None:
            return [UnreadRequest(job_id, name, attempt, unreadable, life) for name, attempt, _ in claimed]
        if not is_version(accepted_us):
            return [UnreadRequest(job_id, name, attempt, "its version is none", life) for name, attempt, _ in claimed]
        accepted, age_s = accepted_s(created, accepted_us), age_ms / 1000
        shared_claim = SharedClaim(frozenset(name for name, _, _ in claimed))
        alone = Alone(int(created) / 1000, alone_ms / 1000, alone_ms / 1000 - now) if alone_ms else None
        held = tuple(
            Claim(
                job_id,
                name,
                attempt,
                known,
                expires_at,
                accepted,
                life,
                counts_of(counts),
                age_s,
                shared_claim,
                alone,
                accepted_us=int(accepted_us),
                ahead_s=ahead_ms / 1000,
                traceparent=traceparent_of(trace),
                labels=read_labels(labels),
                owner=owner,
            )
            for name, attempt, counts in claimed
        )
        return Claims(held, left or None)

    shared = [keys.held_with(job_id, life), keys.lives(job_id[:1] or keys.SHARDS[0])]
    names = keys.of_job(job_id, "job", "steps", "events", "due", "request")
    lease_ms = int((HELD_S if life else lease_s) * 1000)
    return ScriptCall("claim", [*names, *shared], [job_id, step, lease_ms, life, limit], parse)


def leave(unread: UnreadRequest) -> ScriptCall[int]:
    """Put a step back that this release cannot read. Return for how many milliseconds workers have left it."""
    reason = f"a worker cannot read its request: {unread.broken}"
    event = StageFinished(stage=unread.step, state="retrying", reason=reason)
    return ScriptCall(
        "leave",
        [*keys.of_job(unread.job_id, "job", "steps", "events", "due"), keys.held_with(unread.job_id, unread.life)],
        [unread.job_id, unread.step, unread.attempt, reason, event.model_dump_json(), LEAVE_MS, unread.life],
        int,
    )


def extend(held: Claim, *, lease_s: float) -> ScriptCall[bool]:
    """Renew a lease. Return False if this attempt no longer holds the step."""
    lease_ms = int((HELD_S if held.life else lease_s) * 1000)
    fields: list[str | int] = [held.job_id, held.step, held.attempt, lease_ms]
    return ScriptCall("extend", keys.of_job(held.job_id, "job", "steps", "due"), fields, bool)


def take_queries(held: Claim, texts: Sequence[str]) -> ScriptCall[list[str]]:
    """Return the queries that no other step of the job searches, in the given order."""
    return ScriptCall("take_queries", keys.of_job(held.job_id, "job", "queries", "hits"), [held.step, *texts], list)


def finish(held: Claim, outcome: Outcome) -> ScriptCall[Picture | None]:
    """Close a step and store its hits. Return the picture if the caller has something to do with it: see `Board`."""
    return ScriptCall(
        "finish",
        [
            *keys.of_job(held.job_id, "job", "steps", "events", "due", "hits", "queries"),
            keys.held_with(held.job_id, held.life),
        ],
        [held.job_id, SETTLE_GRACE_MS, TELL_EVERY_MS, *closing(held, outcome)],
        lambda returned: picture_of(returned[1], held.job_id, held.request) if len(returned) > 1 else None,
    )


def closing(held: Claim, outcome: Outcome, *, is_kept: bool = True) -> list[str | int]:
    """Return the arguments that close a step. What it found and noted is left out, unless that ``is_kept``."""
    notes = to_json(outcome.notes).decode() if is_kept else ""
    hits = outcome.hits if is_kept else {}
    return [
        held.step,
        held.attempt,
        outcome.state,
        outcome.reason,
        encode_facts(outcome.code, outcome.parts),
        finished(held, outcome).model_dump_json(),
        notes,
        *(part for query, found in hits.items() for part in (query, pack(found))),
    ]


def finished(held: Claim, outcome: Outcome) -> StageFinished:
    """Return the event that reports how a step ended."""
    return StageFinished(
        stage=held.step, state=outcome.state, ms=outcome.ms, reason=outcome.reason or None, code=outcome.code
    )


def add_steps(
    job_id: str, names: Sequence[str], *, ring_grace_s: float, queue_of: Callable[[str], Queue] | None
) -> ScriptCall[list[str]]:
    """Add steps to a job. Return those that are new."""
    listed = names if queue_of is None else [f"{name}={queue_of(name)}" for name in names]
    return ScriptCall(
        "add_steps", keys.of_job(job_id, "job", "steps", "due"), [job_id, int(ring_grace_s * 1000), *listed], list
    )


def postpone(
    held: Claim, *, delay_s: float, reason: str, cause: Cause, code: Code | None, parts: Sequence[AttemptPart]
) -> ScriptCall[bool]:  # fmt: skip
    """Put a step back, to be retried after a delay. Return False if this attempt no longer holds the step."""
    event = StageFinished(stage=held.step, state="retrying", reason=reason, code=code)
    return ScriptCall(
        "postpone",
        [*keys.of_job(held.job_id, "job", "steps", "events", "due"), keys.held_with(held.job_id, held.life)],
        [
            held.job_id,
            held.step,
            held.attempt,
            int(delay_s * 1000),
            reason,
            event.model_dump_json(),
            COUNTERS[cause],
            reason[:MAX_REASON_CHARS],
            encode_facts(code, parts),
        ],
        bool,
    )


def append_event(job_id: str, event: ProgressEvent, held: Claim | None) -> ScriptCall[bool]:
    """Append an event. Return False if the job has ended or this attempt no longer holds the step."""
    fence: list[str | int] = [] if held is None else [held.step, held.attempt]
    names = keys.of_job(job_id, "job", "steps", "events")
    return ScriptCall("tell", names, [event.type, event.model_dump_json(), *fence], bool)


def kept_ms(verdict: Verdict, result_ttl_s: float) -> int:
    """Return for how long (ms) a job and its idempotency key are kept after its end."""
    return DEAD_TTL_MS if verdict.is_kept_long else int(result_ttl_s * 1000)


def settle(
    job_id: str, verdict: Verdict, *, result_ttl_s: float, trail_ms: int, trails: int, is_noted: bool = False,
    closes: tuple[Claim, Outcome] | None = None,
) -> ScriptCall[Sequence[Ended] | str]:  # fmt: skip
    """End a job. Return how it ended, and all that followed it, or () if it had already ended.

    With ``closes``, the step ends with the job, or nothing ends: if another attempt holds the step, or another step is
    open. Or return a collection: the job is not ended before `changed` was noted of that in every shard. Its trail is
    kept for ``trail_ms``, as one of the latest so many ``trails`` of its shard.
    """

    def parse(returned: list[Any] | int | str) -> Sequence[Ended] | str:
        if isinstance(returned, int):
            return ()
        if isinstance(returned, str):
            return returned
        return [
            Ended(ended, kind, collection, state, ms, steps, verdict.degraded, read_labels(labels), key)
            for ended, state, kind, collection, ms, steps, labels, key in returned
        ]

    event = last_event(verdict)
    ttl = kept_ms(verdict, result_ttl_s)
    return ScriptCall(
        "settle",
        keys.of_job(job_id, "job", "steps", "events", "due", "hits", "queries", "request", "result"),
        [
            job_id,
            verdict.state,
            verdict.reason,
            verdict.result,
            event.type,
            event.model_dump_json(),
            ttl,
            0 if verdict.state == "done" else 1,
            int(is_noted),
            READABLE_MS,
            verdict.code or "",
            MAX_KEPT_REQUEST_BYTES,
            verdict.counts_as,
            trail_ms,
            trails,
            # What the steps of a job that is done found and noted is in its result.
            *(() if closes is None else closing(*closes, is_kept=verdict.state != "done")),
        ],
        parse,
    )


def release(job_id: str) -> ScriptCall[bool]:
    """Delete an ended job before its result expires. Return False if it has not ended or does not exist."""
    names = keys.of_job(job_id, "job", "steps", "events", "hits", "queries", "request", "result")
    return ScriptCall("release", names, [], bool)


def picture(job_id: str) -> ScriptCall[Picture]:
    """Return a snapshot of a job.

    Raises (when parsed):
        UnknownJob: No job has this id.
        UnreadableJob: The record is malformed.
    """
    names = keys.of_job(job_id, "job", "steps", "hits", "queries", "request")

    def parse(returned: tuple[Sequence[Any], str]) -> Picture:
        try:
            shown = picture_of(returned[0], job_id, None)
        except MALFORMED as error:
            raise UnreadableJob(job_id, f"its record is malformed ({type(error).__name__})") from error
        if shown.record.is_over and not returned[1]:
            return shown
        request, unreadable = request_of(returned[1])
        if shown.record.state == "done":
            return replace(shown, asked=request)
        return replace(shown, request=request, unreadable=unreadable, asked=request)

    return ScriptCall("picture", names, [], parse)


def picture_or_none(job_id: str) -> ScriptCall[Picture | None]:
    """Return a snapshot of a job, None if there is none that can be read."""
    call = picture(job_id)

    def parse(returned: tuple[Sequence[Any], str]) -> Picture | None:
        try:
            return call.parse(returned)
        except (UnknownJob, UnreadableJob):
            return None

    return ScriptCall(call.script, call.keys, call.args, parse)


def report_backlog(
    shard: str, waits: Mapping[str, float], paces: Mapping[str, QueuePace] = NO_PACES
) -> ScriptCall[int]:  # fmt: skip
    """Note in one shard how long a new step would wait on each queue, in seconds, and how fast each is emptied."""
    pairs = [part for queue, wait_s in waits.items() for part in (queue, int(wait_s * 1000))]
    told = [part for queue, pace in paces.items() for part in (queue, pace.waiting, pace.per_s, pace.spare)]
    return ScriptCall("report_backlog", [keys.backlog(shard)], [BACKLOG_TTL_MS, len(pairs), *pairs, *told], int)


def last_event(verdict: Verdict) -> Event:
    """Return the event that reports how a job ended."""
    match verdict.state:
        case "done":
            return Done(complete=verdict.complete)
        case "failed" | "dead":
            return Failed(reason=verdict.reason, code=verdict.code)
        case "cancelled":
            return Cancelled()
