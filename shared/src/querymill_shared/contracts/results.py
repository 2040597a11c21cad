"""The fields that all results share."""

from collections.abc import Iterator
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import Field

from querymill_shared.contracts.codes import OptionalCode
from querymill_shared.contracts.costs import ModelCost
from querymill_shared.contracts.fields import Contract, Growing

StageState = Literal["waiting", "running", "done", "failed"]


class Degradation(Contract):
    """A part of the request that the result lacks, and why."""

    stage: str
    reason: str
    code: OptionalCode = None


class Stage(Contract):
    """How one step of a job went. Times are in milliseconds."""

    name: str
    state: Annotated[StageState, Growing]
    attempt: int
    ms: float | None = None
    timing: dict[str, float] = Field(default_factory=dict)
    reason: str | None = None
    code: OptionalCode = None


class JobResult(Contract):
    """Base class of all results.

    ``complete`` is false if ``degraded`` names anything. ``timing`` is in milliseconds. ``usage`` counts provider calls
    and tokens. ``labels`` are those that the job was submitted with.
    """

    job_id: str
    kind: str
    state: Literal["done"] = "done"
    #: The board writes them: those who share work have labels of their own.
    labels: dict[str, str] = Field(default_factory=dict, exclude_if=lambda labels: not labels)
    total: int
    complete: bool
    degraded: tuple[Degradation, ...] = ()
    stages: tuple[Stage, ...] = ()
    timing: dict[str, float] = Field(default_factory=dict)
    usage: dict[str, int] = Field(default_factory=dict)
    costs: Annotated[
        tuple[ModelCost, ...],
        Field(description="what the job's own calls of models cost, by model; a cached answer costs nothing"),
    ] = ()

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        """Yield what the result is of, and how much it holds: no text of a question or a document."""
        yield from (("job_id", self.job_id), ("kind", self.kind), ("total", self.total), ("complete", self.complete))
        yield from ((f"len({name})", len(held)) for name, held in self if isinstance(held, tuple) and held)

    def __str__(self) -> str:
        return repr(self)


R_co = TypeVar("R_co", bound=JobResult, covariant=True)


class Asks(Generic[R_co]):
    """Mixin that ties a request to the type of its result, so that type checkers know what a job returns."""
