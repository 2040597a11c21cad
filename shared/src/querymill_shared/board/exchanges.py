"""What takes more than one call, because its keys lie in several slots of a cluster.

An exchange yields calls that may run at once, and is sent what they return. The synchronous and the asynchronous board
carry out the same exchanges. If a process dies in the middle of one, nothing is lost.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

from querymill_shared.board import calls, joining, keys, labelling, lives, ringing, submitting, trails
from querymill_shared.board.calls import ScriptCall
from querymill_shared.board.picture import Claim, Ended, Outcome, Picture, Verdict
from querymill_shared.board.submitting import Submitted
from querymill_shared.contracts.errors import IdempotencyConflict
from querymill_shared.contracts.jobs import JobRequest, fingerprint_of
from querymill_shared.contracts.submit_options import PLAIN, SubmitOptions
from querymill_shared.settings import Settings
from querymill_shared.values import value

T = TypeVar("T")
Exchange = Generator[Sequence[ScriptCall[Any]], Sequence[Any], T]

#: How long a reserved idempotency key waits for its job. After that, its submitter counts as dead.
RESERVATION_MS: Final = 10_000


@value
class _Submission:
    """A request on its way to the board: as JSON too, with what accompanies it, its turn, and whether it is rung."""

    request: JobRequest
    written: str
    options: SubmitOptions
    settings: Settings
    rings: bool
    turn: str = ""

    def accept(self, job_id: str, *, is_keyed: bool = False) -> ScriptCall[Submitted]:
        """Accept it under an id. If it ``is_keyed``, its idempotency key is in the slot of the id."""
        return submitting.submit(
            self.request,
            self.written,
            job_id,
            ring_grace_s=self.settings.querymill_ring_grace_s,
            options=self.options,
            is_keyed=is_keyed,
            turn=self.turn,
            bells=ringing.bells_of(job_id, self.request) if self.rings else (),
        )

    def keep(self, job_id: str, digest: str) -> ScriptCall[str]:
        """Note of its idempotency key, which was reserved, that the job is on the board."""
        deadline, result_ttl_s = self.request.deadline, self.settings.querymill_result_ttl_s
        ttl_s = None if deadline is None else deadline + result_ttl_s
        return submitting.keep(self.request, self.options, job_id, digest, ttl_s=ttl_s)


def submit(
    request: JobRequest, settings: Settings, options: SubmitOptions = PLAIN, *, rings: bool = False,
    is_on_cluster: bool = False,
) -> Exchange[Submitted]:  # fmt: skip
    """Accept a job. If it starts work, it must be rung, unless ``rings`` has done that.

    Jobs that it supersedes are cancelled after it was accepted, and nothing is cancelled if it is not. If an
    idempotency key leads to an earlier job, so are those that this one supersedes: its submitter may have died.

    On a cluster every write is in the slot of the clock, the only one whose server gives versions.

    Raises:
        IdempotencyConflict: The key belongs to a job with a different request that is on the board or on its way.
        Overloaded: No worker can begin it before its deadline.
    """
    shard = keys.CLOCK_SHARD if is_on_cluster and joining.is_ordered(request) else ""
    turn = ""
    if options.supersedes:
        (turn,) = yield [labelling.take_turn(request, options)]
    submission = _Submission(request, request.model_dump_json(), options, settings, rings, turn)
    is_joined = joining.join_s(request) > 0
    job = yield from (_submit_joined(submission, shard) if is_joined else _submit_alone(submission, shard))
    if turn and job.is_replayed:
        (turn,) = yield [labelling.turn_of(job.job_id)]
    return replace(job, superseded=(yield from _supersede(submission, job.job_id, turn))) if turn else job


def _submit_joined(submission: _Submission, shard: str) -> Exchange[Submitted]:
    """Accept a job that may be joined. Its shard is that of its fingerprint, unless one is given."""
    options, settings = submission.options, submission.settings
    digest = fingerprint_of(submission.written)
    job_id = keys.new_job_id(shard or digest)
    if options.idempotency_key is not None:
        job_id, is_there = yield from _reserve(submission, job_id, digest)
        if is_there:
            return Submitted(job_id, is_replayed=True)
    (job,) = yield [submission.accept(job_id)]
    if options.idempotency_key is None:
        return job  # type: ignore[no-any-return]  # what a call returns is known where it is read
    (known,) = yield [submission.keep(job_id, digest)]
    holder, first, *_ = known.split(" ")
    if holder != job_id:
        # This process was so slow that its reservation expired, and another one has submitted the job.
        yield from settle(job_id, Verdict("cancelled", reason="submitted twice"), settings)
        if first != digest:
            raise IdempotencyConflict(options.idempotency_key, holder)
        return Submitted(holder, is_replayed=True)
    return job  # type: ignore[no-any-return]  # as above


def _submit_alone(submission: _Submission, shard: str) -> Exchange[Submitted]:
    """Accept a job that is not joined. It is in the slot of its idempotency key, so that one call is enough.

    The key of a job with a given ``shard`` is there, too. So nobody notices if it is also the key of a search.
    """
    request, options = submission.request, submission.options
    key = options.idempotency_key
    scope = None if key is None else keys.idempotency_digest(submitting.scope_of(request, options))
    job_id = keys.new_job_id(shard or scope)
    while True:
        (job,) = yield [submission.accept(job_id, is_keyed=key is not None)]
        if not job.elsewhere or key is None:
            return job  # type: ignore[no-any-return]  # as above
        # The key belongs to a job that was joined, in another slot.
        prior, _, *coming = job.elsewhere.split(" ")
        (is_there,) = yield [submitting.is_there(prior)]
        if is_there or coming:
            raise IdempotencyConflict(key, prior)
        yield [submitting.drop_key(request, options, job.elsewhere)]


def _supersede(submission: _Submission, job_id: str, turn: str) -> Exchange[tuple[Ended, ...]]:
    """Cancel the jobs that a job supersedes, and itself if a later one was accepted. Return how they ended.

    Of two that are accepted at once, one sees the other: each notes its turn before it looks.
    """
    request, options = submission.request, submission.options
    (latest,) = yield [labelling.accept_turn(request, options, turn)]
    found = yield [labelling.formers(shard, request, options, job_id, turn) for shard in keys.SHARDS]
    ended: list[Ended] = []
    for former in (former for formers in found for former in formers):
        verdict = Verdict("cancelled", reason=f"superseded by job {job_id}")
        ended += yield from settle(former, verdict, submission.settings)
    if int(latest) > int(turn):
        verdict = Verdict("cancelled", reason="superseded by a job that was submitted later")
        ended += yield from settle(job_id, verdict, submission.settings)
    return tuple(ended)


def _reserve(submission: _Submission, job_id: str, digest: str) -> Exchange[tuple[str, bool]]:
    """Reserve a key for a job. Return the id of the job that has the key, and whether it is on the board."""
    request, options, void = submission.request, submission.options, ""
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
            if is_there and coming:
                yield [submission.keep(prior, digest)]  # the one that reserved the key may have died
            # If it is not there yet, submit it for the one that reserved the key. The board accepts it once.
            return prior, is_there
        void = known


def list_life(life: str, settings: Settings) -> Exchange[None]:
    """Put a life on the list of the worker processes, then let it claim steps: a process that dies of one is missed."""
    yield [lives.beat(life, None, silent_s=settings.querymill_lease_s * lives.SILENT)]
    yield [lives.admit(shard, life) for shard in keys.SHARDS]


def settling(
    job_id: str, verdict: Verdict, settings: Settings, *, is_noted: bool = False,
    closes: tuple[Claim, Outcome] | None = None,
) -> ScriptCall[Sequence[Ended] | str]:  # fmt: skip
    """End a job, with the times that settings say: see `calls.settle`."""
    return calls.settle(
        job_id, verdict, result_ttl_s=settings.querymill_result_ttl_s, is_noted=is_noted, closes=closes,
        trail_ms=trails.kept_ms(settings), trails=trails.kept_in_a_shard(settings),
    )  # fmt: skip


def settle(
    job_id: str, verdict: Verdict, settings: Settings, *, closes: tuple[Claim, Outcome] | None = None
) -> Exchange[Sequence[Ended]]:
    """End a job. Return how it ended, and all that followed it, or () if it had already ended.

    An idempotency key in another slot goes with the result from then on; if this process dies before, it stays longer.
    With ``closes``, its only step ends with it, or neither ends. If the job has changed what its collection holds,
    every shard learns that before anybody can see the job as done.
    """
    end = partial(settling, job_id, verdict, settings, closes=closes)
    (settled,) = yield [end()]
    if isinstance(settled, str):
        yield [submitting.changed(shard, settled) for shard in keys.SHARDS]
        (settled,) = yield [end(is_noted=True)]
    if isinstance(settled, str):
        return ()
    kept_ms = calls.kept_ms(verdict, settings.querymill_result_ttl_s)
    keyed = [ended for ended in settled if ended.key_elsewhere]
    if keyed:
        yield [submitting.end_key(ended.key_elsewhere, ended.job_id, kept_ms=kept_ms) for ended in keyed]
    return settled  # type: ignore[no-any-return]  # as above


def finish_with_job(
    held: Claim, outcome: Outcome, verdict: Verdict, settings: Settings
) -> Exchange[tuple[Sequence[Ended], Picture | None]]:
    """End a job with its only step. If that is not possible, close the step alone, and return what `finish` returns."""
    ended = yield from settle(held.job_id, verdict, settings, closes=(held, outcome))
    if ended:
        return ended, None
    (picture,) = yield [calls.finish(held, outcome)]
    return (), picture
