"""A picture: a snapshot of a job, with its record, steps, hits and queries."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.hits import BoardHit

JobState = Literal["queued", "running", "done", "failed", "cancelled", "dead"]
StepState = Literal["waiting", "running", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Record:
    """The job as submitted, and its state.

    Times are in seconds since the epoch by the board's clock. ``told`` is when the ranking was last reported.
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

    @property
    def is_over(self) -> bool:
        """Whether the job has ended, however."""
        return self.state not in ("queued", "running")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a job. ``notes`` is the output that its flow stored with it."""

    name: str
    state: StepState
    attempt: int
    reason: str = ""
    started: float | None = None
    ended: float | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_closed(self) -> bool:
        """Whether the step has finished, successfully or not."""
        return self.state in ("done", "failed")


@dataclass(frozen=True, slots=True)
class Picture:
    """A snapshot of a job: ``hits`` by query text, ``queries`` maps each query's text to the step that took it.

    ``request`` is None once the job is done, because the board then drops it. It is also None if this release cannot
    read it; ``unreadable`` then says why.
    """

    record: Record
    steps: tuple[Step, ...]
    hits: Mapping[str, tuple[BoardHit, ...]]
    queries: Mapping[str, str]
    request: JobRequest | None
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A worker's exclusive right to run a step. It is valid until its lease expires or a later attempt starts.

    ``expires_at`` is the job's deadline on this process's monotonic clock (s), or None if the job has none.
    ``submitted`` is when the board accepted the job, in seconds since the epoch by the board's clock.
    """

    job_id: str
    step: str
    attempt: int
    request: JobRequest
    expires_at: float | None
    submitted: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a step ended: its hits by query text, or the reason why it failed."""

    state: Literal["done", "failed"] = "done"
    reason: str = ""
    hits: Mapping[str, tuple[BoardHit, ...]] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)
    ms: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a job ends. ``result`` is the result as JSON, or "" if there is none."""

    state: Literal["done", "failed", "cancelled", "dead"]
    reason: str = ""
    result: str = ""
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Due:
    """An entry for the sweeper: a silent step or, if ``step`` is None, a job to settle."""

    job_id: str
    step: str | None
    past_deadline: bool = False
