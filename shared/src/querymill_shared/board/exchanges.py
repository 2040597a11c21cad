"""What takes more than one call, because its keys lie in several slots of a cluster.

An exchange yields calls that may run at once, and is sent what they return. The synchronous and the asynchronous board
carry out the same exchanges. If a process dies in the middle of one, nothing is lost.
"""

from collections.abc import Generator, Sequence
from typing import Any, Final, TypeVar

from querymill_shared.board import calls, joining, keys, ringing, submitting
from querymill_shared.board.calls import ScriptCall
from querymill_shared.board.picture import Claim, Ended, Outcome, Picture, Verdict
from querymill_shared.board.submitting import Submitted
from querymill_shared.contracts.errors import IdempotencyConflict
from querymill_shared.contracts.jobs import JobRequest, fingerprint_of
from querymill_shared.contracts.submit_options import PLAIN, SubmitOptions
from querymill_shared.settings import Settings

T = TypeVar("T")
Exchange = Generator[Sequence[ScriptCall[Any]], Sequence[Any], T]

#: How long a reserved idempotency key waits for its job. After that, its submitter counts as dead.
RESERVATION_MS: Final = 10_000


def submit(
    request: JobRequest, settings: Settings, options: SubmitOptions = PLAIN, *, rings: bool = False,
    is_on_cluster: bool = False,
) -> Exchange[Submitted]:  # fmt: skip
    """Accept a job. If it starts work, it must be rung, unless ``rings`` has done that.

    On a cluster every write is in the slot of the clock, the only one whose server gives versions.

    Raises:
        IdempotencyConflict: The key belongs to a job with a different request that is still on the board.
        Overloaded: No worker can begin it before its deadline.
    """
    written = request.model_dump_json()
    shard = keys.CLOCK_SHARD if is_on_cluster and joining.is_ordered(request) else ""
    if joining.join_s(request) == 0:
        return (yield from _submit_alone(request, written, settings, options, rings=rings, shard=shard))
    # The shard of work that may be joined is that of its fingerprint.
    digest = fingerprint_of(written)
    job_id = keys.new_job_id(shard or digest)
    if options.idempotency_key is not None:
        job_id, is_there = yield from _reserve(job_id, digest, request, options)
        if is_there:
            return Submitted(job_id, is_replayed=True)
    (job,) = yield [_submission(request, written, job_id, settings, rings=rings)]
    if options.idempotency_key is None:
        return job  # type: ignore[no-any-return]  # what a call returns is known where it is read
    ttl_s = None if request.deadline is None else request.deadline + settings.querymill_result_ttl_s
    (holder,) = yield [submitting.keep(request, options, job_id, digest, ttl_s=ttl_s)]
    if holder != job_id:
        # This process was so slow that its reservation expired, and another one has submitted the job.
        yield from settle(job_id, Verdict("cancelled", reason="submitted twice"), settings)
        return Submitted(holder, is_replayed=True)
    return job  # type: ignore[no-any-return]  # as above


def _submission(
    request: JobRequest, written: str, job_id: str, settings: Settings, options: SubmitOptions = PLAIN, *, rings: bool
) -> ScriptCall[Submitted]:  # fmt: skip
    bells = ringing.bells_of(job_id, request) if rings else ()
    grace_s = settings.querymill_ring_grace_s
    return submitting.submit(request, written, job_id, ring_grace_s=grace_s, options=options, bells=bells)


def _submit_alone(
    request: JobRequest, written: str, settings: Settings, options: SubmitOptions, *, rings: bool, shard: str
) -> Exchange[Submitted]:
    """Accept a job that is not joined. It is in the slot of its idempotency key, so that one call is enough.

    The key of a job with a given ``shard`` is there, too. So nobody notices if it is also the key of a search.
    """
    key = options.idempotency_key
    scope = None if key is None else keys.idempotency_digest(submitting.scope_of(request, options))
    job_id = keys.new_job_id(shard or scope)
    while True:
        (job,) = yield [_submission(request, written, job_id, settings, options, rings=rings)]
        if not job.elsewhere or key is None:
            return job  # type: ignore[no-any-return]  # as above
        # The key belongs to a job that was joined, in another slot.
        prior, _, _ = job.elsewhere.partition(" ")
        (is_there,) = yield [submitting.is_there(prior)]
        if is_there:
            raise IdempotencyConflict(key, prior)
        yield [submitting.drop_key(request, options, job.elsewhere)]


def _reserve(job_id: str, digest: str, request: JobRequest, options: SubmitOptions) -> Exchange[tuple[str, bool]]:
    """Reserve a key for a job. Return the id of the job that has the key, and whether it is on the board."""
    void = ""
    while True:
        (known,) = yield [
            submitting.reserve(request, options, job_id, digest, reservation_ms=RESERVATION_MS, void=void)
        ]
        if not known:
            return job_id, False
        prior, first, *coming = known.split(" ")
        (is_there,) = yield [submitting.is_there(prior)]
        if is_there or coming:
            if first != digest:
                raise IdempotencyConflict(options.idempotency_key or "", prior)
            # If it is not there yet, submit it for the one that reserved the key. The board accepts it once.
            return prior, is_there
        void = known


def settle(
    job_id: str, verdict: Verdict, settings: Settings, *, closes: tuple[Claim, Outcome] | None = None
) -> Exchange[Sequence[Ended]]:
    """End a job. Return how it ended, and all that followed it, or () if it had already ended.

    With ``closes``, its only step ends with it, or neither ends. If the job has changed what its collection holds,
    every shard learns that before anybody can see the job as done.
    """
    ttl_s = settings.querymill_result_ttl_s
    (settled,) = yield [calls.settle(job_id, verdict, result_ttl_s=ttl_s, closes=closes)]
    if not isinstance(settled, str):
        return settled  # type: ignore[no-any-return]  # as above
    yield [submitting.changed(shard, settled) for shard in keys.SHARDS]
    (settled,) = yield [calls.settle(job_id, verdict, result_ttl_s=ttl_s, is_noted=True, closes=closes)]
    return () if isinstance(settled, str) else settled


def finish_with_job(
    held: Claim, outcome: Outcome, verdict: Verdict, settings: Settings
) -> Exchange[tuple[Sequence[Ended], Picture | None]]:
    """End a job with its only step. If that is not possible, close the step alone, and return what `finish` returns."""
    ended = yield from settle(held.job_id, verdict, settings, closes=(held, outcome))
    if ended:
        return ended, None
    (picture,) = yield [calls.finish(held, outcome)]
    return (), picture
