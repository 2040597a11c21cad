"""What every result says besides its hits."""

from typing import Generic, Literal, TypeVar

from pydantic import Field

from querymill_shared.contracts.fields import Contract

StageState = Literal["waiting", "running", "done", "failed"]


class Degradation(Contract):
    """One thing the answer was asked for and does not have."""

    stage: str
    reason: str


class Stage(Contract):
    """How one branch of a job went."""

    name: str
    state: StageState
    attempt: int
    ms: float | None = None
    timing: dict[str, float] = Field(default_factory=dict)
    reason: str | None = None


class JobResult(Contract):
    """The part that the results of all kinds share.

    ``complete`` is false as soon as ``degraded`` names anything. ``timing`` is in milliseconds;
    ``usage`` counts provider calls and tokens.
    """

    job_id: str
    kind: str
    state: Literal["done"] = "done"
    total: int
    complete: bool
    degraded: tuple[Degradation, ...] = ()
    stages: tuple[Stage, ...] = ()
    timing: dict[str, float] = Field(default_factory=dict)
    usage: dict[str, int] = Field(default_factory=dict)


R_co = TypeVar("R_co", bound=JobResult, covariant=True)


class Asks(Generic[R_co]):
    """Beside a request: the type of the result that answers it, for who writes code against it."""
