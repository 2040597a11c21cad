"""The calls that submit a job: alone, under an idempotency key, or to follow identical work in flight."""

import logging
from collections.abc import Sequence
from typing import Any, Final

from querymill_shared.board import joining, keys, labelling
from querymill_shared.board.calls import BACKLOG_TTL_MS, DEAD_TTL_MS, SETTLE_MARGIN_MS, ScriptCall
from querymill_shared.board.picture import Ended
from querymill_shared.contracts.errors import IdempotencyConflict, Overloaded
from querymill_shared.contracts.events import Queued
from querymill_shared.contracts.jobs import JobRequest, fingerprint_of
from querymill_shared.contracts.submit_options import PLAIN, SubmitOptions
from querymill_shared.queues import Queue
from querymill_shared.tracing import current_traceparent
from querymill_shared.values import value

_log = logging.getLogger(__name__)

#: An idempotency key lives as long as its job: its end gives the key its time. This is for a job that never ends.
IDEMPOTENCY_TTL_MS: Final = DEAD_TTL_MS


@value
class Submitted:
    """The job that a submission led to, and whether its steps must be rung.

    ``is_replayed`` says that an idempotency key led to an earlier job. ``elsewhere`` is what the key says of a job in
    another slot; then nothing was submitted. ``superseded`` says of each job that it superseded how that ended.
    """

    job_id: str
    starts_work: bool = False
    elsewhere: str = ""
    is_replayed: bool = False
    superseded: tuple[Ended, ...] = ()


def scope_of(request: JobRequest, options: SubmitOptions) -> str:
    """Return what makes an idempotency key unique: each collection has its own keys, and in it each owner."""
    return "\n".join(filter(None, (request.collection, options.owner, options.idempotency_key)))


def submit(
    request: JobRequest, written: str, job_id: str, *, ring_grace_s: float, options: SubmitOptions = PLAIN,
    is_keyed: bool = False, turn: str = "", bells: Sequence[tuple[Queue, str]] = (),
) -> ScriptCall[Submitted]:  # fmt: skip
    """Accept a job under an id, or follow identical work in flight.

    If ``is_keyed``, the idempotency key of the ``options`` is looked up; it must be in the slot of the id. ``turn`` is
    that of a job which supersedes others. ``written`` is the request as JSON. For a job that starts work, ``bells`` are
    pushed. The sweeper rings later those that cannot be.

    Raises (when parsed):
        IdempotencyConflict: The key belongs to a job with a different request that is still on the board.
        Overloaded: No worker can begin it before its deadline.
    """
    digest = fingerprint_of(written)

    def parse(returned: list[Any]) -> Submitted:
        return _submitted(returned, job_id, options)

    names = keys.of_job(job_id, "job", "steps", "events", "due", "recent", "request")
    scope = scope_of(request, options) if is_keyed else job_id
    shard = keys.prefix(job_id[0])
    elsewhere = "" if is_keyed or options.idempotency_key is None else key_of(request, options)
    return ScriptCall(
        "submit",
        [
            *names,
            keys.idempotency(job_id, scope),
            # Each API key pays for its own work, as far as its own budget goes.
            f"{shard}inflight:{digest}{options.owner}",
            keys.corpus(job_id[0]),
            *[queue.value for queue, _ in bells],
        ],
        [
            job_id,
            digest,
            request.kind,
            request.collection,
            request.lane,
            written,
            int((request.deadline or 0) * 1000),
            SETTLE_MARGIN_MS,
            int(ring_grace_s * 1000),
            IDEMPOTENCY_TTL_MS if is_keyed else 0,
            int(joining.reads_only(request)),
            int(joining.join_s(request) * 1000),
            DEAD_TTL_MS,
            Queued(stages=request.steps).model_dump_json(),
            int(joining.is_ordered(request)),
            current_traceparent(),
            labelling.beside(request, options, turn, key_elsewhere=elsewhere),
            labelling.KNOWN_MS,
            BACKLOG_TTL_MS,
            *[bell for _, bell in bells],
            *[f"{step}={request.queue_of(step)}" for step in request.steps],
        ],
        parse,
    )


def _submitted(returned: list[Any], job_id: str, options: SubmitOptions) -> Submitted:
    match returned:
        case ["elsewhere", known]:
            return Submitted(job_id, elsewhere=known)
        case ["late", wait_ms]:
            raise Overloaded(float(wait_ms) / 1000)
        case ["conflict", prior]:
            raise IdempotencyConflict(options.idempotency_key or "", prior)
        case ["created", submitted, failed]:
            if failed:
                _log.warning("job %s is on the board, %d of its bells are not rung yet", submitted, failed)
            return Submitted(submitted, starts_work=True)
        case [how, submitted]:
            return Submitted(submitted, is_replayed=how == "existing")
        case _:
            raise ValueError(returned)


def is_there(job_id: str) -> ScriptCall[bool]:
    """Return whether a job is on the board."""
    return ScriptCall("there", keys.of_job(job_id, "job"), [], bool)


def reserve(
    request: JobRequest, options: SubmitOptions, job_id: str, digest: str, *, reservation_ms: int, void: str
) -> ScriptCall[str]:
    """Reserve an idempotency key for a job. Return "", or what the key says of the job that has it, unless ``void``."""
    return ScriptCall("reserve", [key_of(request, options)], [job_id, digest, reservation_ms, void], str)


def keep(
    request: JobRequest, options: SubmitOptions, job_id: str, digest: str, *, ttl_s: float | None
) -> ScriptCall[str]:
    """Note that the job of a reserved key is on the board. Return the id and fingerprint of its holder."""
    ttl_ms = IDEMPOTENCY_TTL_MS if ttl_s is None else int(ttl_s * 1000)
    return ScriptCall("keep", [key_of(request, options)], [job_id, digest, ttl_ms], str)


def end_key(key: str, job_id: str, *, kept_ms: int) -> ScriptCall[bool]:
    """Let an idempotency key go with the result of its job, which lies in another slot. Return whether it was there."""
    return ScriptCall("end_key", [key], [job_id, kept_ms], bool)


def drop_key(request: JobRequest, options: SubmitOptions, void: str) -> ScriptCall[bool]:
    """Delete an idempotency key whose job is gone."""
    return ScriptCall("forget_key", [key_of(request, options)], [void], bool)


def key_of(request: JobRequest, options: SubmitOptions) -> str:
    """Return where the idempotency key of a submission is stored whose job may be in any slot."""
    scope = scope_of(request, options)
    return keys.idempotency(keys.idempotency_digest(scope), scope)


def changed(shard: str, collection: str) -> ScriptCall[bool]:
    """Note in a shard that a collection holds something else now."""
    return ScriptCall("changed", [keys.corpus(shard)], [collection], bool)
