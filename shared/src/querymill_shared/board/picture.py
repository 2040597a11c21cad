"""What the board shows of a job: its record, its steps, its hits, its queries."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.hits import BoardHit

JobState = Literal["queued", "running", "done", "failed", "cancelled", "dead"]
StepState = Literal["waiting", "running", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Record:
    """The job as submitted, and its state; ``told`` is when its ranking was last told.

    Times are seconds since the epoch by the board's clock.
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
    """One branch of a job. ``notes`` is what the flow wanted to remember of it."""

    name: str
    state: StepState
    attempt: int
    reason: str = ""
    started: float | None = None
    ended: float | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_closed(self) -> bool:
        """Whether nothing more will come of this branch."""
        return self.state in ("done", "failed")


@dataclass(frozen=True, slots=True)
class Picture:
    """A whole job: ``hits`` by query text, ``queries`` maps each query's text to the step that took it.

    ``request`` is None once the job is over and its request was let go, or where this process cannot read it;
    then ``unreadable`` says why.
    """

    record: Record
    steps: tuple[Step, ...]
    hits: Mapping[str, tuple[BoardHit, ...]]
    queries: Mapping[str, str]
    request: JobRequest | None
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to carry out one step: valid while its lease lives and no later attempt was made.

    ``expires_at`` is the job's deadline on this process's monotonic clock (s), None without one;
    ``submitted`` is when the job was accepted, in seconds since the epoch by the board's clock.
    """

    job_id: str
    step: str
    attempt: int
    request: JobRequest
    expires_at: float | None
    submitted: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a step ended: its hits by query text, and why it failed if it did."""

    state: Literal["done", "failed"] = "done"
    reason: str = ""
    hits: Mapping[str, tuple[BoardHit, ...]] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)
    ms: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a job ends: ``result`` is the result's JSON when there is one."""

    state: Literal["done", "failed", "cancelled", "dead"]
    reason: str = ""
    result: str = ""
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Due:
    """Something the sweeper should look at: a silent step, or (``step`` None) a job to settle."""

    job_id: str
    step: str | None
    past_deadline: bool = False
