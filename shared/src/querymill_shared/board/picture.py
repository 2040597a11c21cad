"""A picture: a snapshot of a job, with its record, steps, hits and queries."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final, Literal

from querymill_shared.board.attempts import (
    Attempt,
    AttemptPart,
    last_outcome,
    read_code,
    read_facts,
    read_past,
    worker_of,
)
from querymill_shared.contracts.codes import Code
from querymill_shared.contracts.errors import UnknownJob
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.hits import BoardHit
from querymill_shared.values import value

JobState = Literal["queued", "running", "done", "failed", "cancelled", "dead"]
StepState = Literal["waiting", "running", "done", "failed"]
#: Why a step was put back: it failed, a store or provider was away, another worker was first, or it waits on purpose.
Cause = Literal["failure", "outage", "conflict", "pause"]


@value
class SetbackCounts:
    """How often each cause put a step back, and how many workers died while they held it."""

    deaths: int = 0
    failures: int = 0
    outages: int = 0
    conflicts: int = 0
    pauses: int = 0

    @property
    def spent(self) -> int:
        """The attempts that are used up: by deaths and failures alone, as the others say nothing about the step."""
        return self.deaths + self.failures


#: The reason of a job that its caller cancelled.
CANCELLED: Final = "cancelled by its caller"


@value
class Record:
    """The job as submitted, and its state.

    Times are in seconds since the epoch by the board's clock. ``told`` is when the ranking was last reported.

    Of identical jobs in flight only the first, the ``leader``, is worked; ``callers`` counts those that wait for it. A
    leader whose own caller has cancelled (``left``) or released it is worked on for the others. ``code`` says why the
    job ended without a result, as `Code` or "". It is not complete if its result lacks a part. ``labels`` are those of
    its caller, and ``owner`` is the id of the API key that submitted it, or "". Of one that ``is_trail`` what it asked
    and found is gone.

    ``callback`` is whom its end is told, as JSON, or "". The ``deliveries`` are the jobs that tell it: one, and another
    each time that it was dead, replayed, and ended again.
    """

    job_id: str
    kind: str
    collection: str
    lane: str
    state: JobState
    created: float
    deadline: float | None
    ended: float | None
    reason: str
    open_steps: int
    told: float | None = None
    leader: str = ""
    callers: int = 1
    left: float | None = None
    is_released: bool = False
    code: str = ""
    is_complete: bool = True
    labels: Mapping[str, str] = field(default_factory=dict)
    owner: str = ""
    is_trail: bool = False
    callback: str = ""
    deliveries: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether the job has ended, however."""
        return self.state not in ("queued", "running")


@value
class Step:
    """One step of a job. ``attempt`` is the number of its claims, which fences them from each other.

    ``notes`` is the output that its flow stored with it. ``queued`` is when it last began to wait for a worker, if that
    is known. ``life`` is the worker process that claimed it last. ``facts`` and ``past`` are
    what the board holds of its attempts, as `attempts` reads it.
    """

    name: str
    state: StepState
    attempt: int
    reason: str = ""
    started: float | None = None
    ended: float | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    counts: SetbackCounts = SetbackCounts()
    queued: float | None = None
    life: str = ""
    facts: str = ""
    past: str = ""

    @property
    def is_closed(self) -> bool:
        """Whether the step has finished, successfully or not."""
        return self.state in ("done", "failed")

    @property
    def worker(self) -> str:
        """The name of the worker process that claimed it last, "" if that is unknown."""
        return worker_of(self.life)

    @property
    def code(self) -> Code | None:
        """Why it failed, lacks something or was put back last, None if that is unknown."""
        past = () if self.is_closed else read_past(self.past)
        return past[-1].code if past else read_code(self.facts)

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The last attempts, the first one first. ``attempt`` counts all of them."""
        past = read_past(self.past)
        if self.state == "waiting" or not self.attempt:
            return past
        code, parts = read_facts(self.facts) if self.is_closed else (None, ())
        outcome, ended = last_outcome(self.state, code), self.ended if self.is_closed else None
        reason = self.reason if self.state == "failed" else ""
        return *past, Attempt(self.attempt, self.queued, self.started, ended, self.worker, outcome, code, reason, parts)


@value
class Picture:
    """A snapshot of a job: ``hits`` by query text, ``queries`` maps each query's text to the step that took it.

    Once the job is done, the board drops its hits and queries and the notes of its steps, and ``request`` is None. It
    is also None if this release cannot read it; ``unreadable`` then names the fields and the rules that they break.
    ``asked`` is the request even of a job that is done, unless it was to ingest something, or was long.
    ``queues`` maps the steps of an open job to the names of their queues, so that they can be rung even then.
    """

    record: Record
    steps: tuple[Step, ...]
    hits: Mapping[str, tuple[BoardHit, ...]]
    queries: Mapping[str, str]
    request: JobRequest | None
    unreadable: str = ""
    queues: Mapping[str, str] = field(default_factory=dict)
    asked: JobRequest | None = None

    def for_caller(self) -> "Picture":
        """Return the picture as the job's own caller sees it. Workers see the work, which may go on for others.

        Raises:
            UnknownJob: The caller has released the job.
        """
        record = self.record
        if record.is_released:
            raise UnknownJob(record.job_id)
        if record.left is None:
            return self
        return replace(self, record=replace(record, state="cancelled", reason=CANCELLED, ended=record.left))


@value
class SharedClaim:
    """The steps of a job that one call claimed, for a process to run side by side, and which step took which query."""

    steps: frozenset[str] = frozenset()
    takers: dict[str, str] = field(default_factory=dict)

    def take_queries(self, step: str, texts: Sequence[str], rivals: Collection[str]) -> list[str] | None:
        """Return the queries that no other step has taken, or None if a rival was not claimed by this call."""
        if not self.steps.issuperset(rivals):
            return None
        return [text for text in texts if self.takers.setdefault(text, step) == step]


@value
class Alone:
    """What the first attempt at the only step of a job knows of that job, so that it can foresee how the job ends.

    ``created`` and ``started`` are in seconds since the epoch by the board's clock, which is ``ahead_s`` seconds ahead
    of this process's monotonic clock.
    """

    created: float
    started: float
    ahead_s: float


@value
class Claim:
    """A worker's exclusive right to run a step. It is valid until its lease expires or a later attempt starts.

    ``expires_at`` is the job's deadline on this process's monotonic clock (s), or None if the job has none.
    ``submitted`` is when the board accepted the job, in seconds since the epoch by the board's clock, which is now
    ``ahead_s`` ahead of its server's. ``accepted_us`` orders the job among all writes. ``life`` names
    the worker process that holds the step until it dies; without one, the claim ends with its lease. ``age_s`` is how
    long ago the job was accepted, or replayed. All claims of one call have the ``shared_claim``. ``alone`` is None if
    the job has other steps, or if the step was tried before. ``traceparent`` is that
    of the caller who submitted the job, or "", ``labels`` are those of the job, and ``owner`` is the API key that pays.
    """

    job_id: str
    step: str
    attempt: int
    request: JobRequest
    expires_at: float | None
    submitted: float
    life: str = ""
    counts: SetbackCounts = SetbackCounts()
    age_s: float = 0.0
    shared_claim: SharedClaim = field(default_factory=SharedClaim, compare=False)
    alone: Alone | None = field(default=None, compare=False)
    accepted_us: int = 0
    ahead_s: float = field(default=0.0, compare=False)
    traceparent: str = field(default="", compare=False)
    labels: Mapping[str, str] = field(default_factory=dict, compare=False)
    owner: str = field(default="", compare=False)

    @property
    def asked_at(self) -> float:
        """Return when the job was accepted by the clock of the board's server: what day it was for its caller."""
        return self.submitted - self.ahead_s


@value
class Claims:
    """What one call claimed: the named step and others of its queue, none if the named one is closed or held.

    ``left`` is a step of that queue that still waits, for another worker to be rung, or None.
    """

    held: tuple[Claim, ...] = ()
    left: str | None = None


@value
class WorkerLife:
    """A worker process that reports that it lives, from its start to its death.

    ``name`` stays the same when it is started again, ``life`` does not. ``slots`` is how many steps it runs at once.
    ``beat_age_s`` is how long ago it was heard of. ``host`` and ``pid`` tell where it runs, ``started`` since when (s
    since the epoch). ``busy`` is how many steps it runs now, and its machine's clock is ``clock_ahead_s`` ahead of that
    of the board's server. Either is None if that is unknown. With ``writes`` a chat model writes answers for it.
    ``spare`` is how many further steps it runs of collections that hold few of its threads while all are busy.
    """

    life: str
    name: str
    queues: tuple[str, ...]
    slots: int
    beat_age_s: float
    host: str = ""
    pid: int = 0
    started: float = 0.0
    release: str = ""
    busy: int | None = None
    clock_ahead_s: float | None = None
    writes: bool = False
    spare: int = 0


@value
class Outcome:
    """How a step ended: its hits by query text, or the reason and code why it failed; and the parts of its time."""

    state: Literal["done", "failed"] = "done"
    reason: str = ""
    hits: Mapping[str, tuple[BoardHit, ...]] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)
    ms: float | None = None
    code: Code | None = None
    parts: tuple[AttemptPart, ...] = ()


@value
class Verdict:
    """How a job ends. ``result`` is the result as JSON, or "" if there is none. It lacks ``degraded`` parts.

    A job that ``stays`` is kept for a week, like a dead one, because it did not do all that its caller left to it.
    ``counts_as`` is what its end is counted as, if not as its state: "not_found" or "refused" if it failed by a mistake
    of its caller.
    """

    state: Literal["done", "failed", "cancelled", "dead"]
    reason: str = ""
    result: str = ""
    complete: bool = True
    degraded: int = 0
    code: Code | None = None
    stays: bool = False
    counts_as: str = ""

    @property
    def is_kept_long(self) -> bool:
        """Whether the job is kept for a week."""
        return self.stays or self.state == "dead"


@value
class Ended:
    """What is logged of a job that has ended: no text of anybody, but the labels of its caller.

    ``state`` is what its end is counted as; see `Verdict`. ``degraded`` counts the parts that it lacks.
    ``key_elsewhere`` is its idempotency key as it is stored in another slot, for the board alone.
    """

    job_id: str
    kind: str
    collection: str
    state: str
    ms: int
    steps: int
    degraded: int
    labels: Mapping[str, str] = field(default_factory=dict)
    key_elsewhere: str = ""


@value
class Due:
    """An entry for the sweeper: a silent step or, if ``step`` is None, a job to settle.

    A ``callback`` is instead what the caller of a job that has ended is to be told, as `OpenCallback` reads it, and in
    which shard that is noted.
    """

    job_id: str
    step: str | None
    past_deadline: bool = False
    callback: str = ""
    shard: str = ""
