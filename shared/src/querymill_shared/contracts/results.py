"""The fields that all results share."""

from collections.abc import Iterator
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import Field

from querymill_shared.contracts.codes import OptionalCode
from querymill_shared.contracts.costs import ModelCost
from querymill_shared.contracts.fields import Contract, Growing

StageState = Literal["waiting", "running", "done", "failed"]


class Degradation(Contract):
    """A part of the request that the result lacks, and why.

    Attributes:
        stage: name of the step that would have made the part; of a `search`, behind the kind/collection of its branch
        reason: why the part is missing, in words
    """

    stage: str
    reason: str
    code: OptionalCode = None


class Stage(Contract):
    """How one step of a job went.

    Attributes:
        name: the step, such as "search" or "batch-01"
        state: how the step stands; one that is "waiting" or "running" was cut when the job ended
        attempt: how many times a worker has started the step; 0: none has
        ms: milliseconds from the start of the last attempt to the end of the step; null: it has not ended
        timing: milliseconds that each phase of the step took, by the phase's name
        reason: why the step failed, in words; null: it did not
    """

    name: str
    state: Annotated[StageState, Growing]
    attempt: int
    ms: float | None = None
    timing: dict[str, float] = Field(default_factory=dict)
    reason: str | None = None
    code: OptionalCode = None


class JobResult(Contract):
    """Base class of all results.

    What ``total`` counts, each kind says.
    """

    job_id: str = Field(description="id of the job that has this result")
    kind: str = Field(description="kind of the job")
    state: Literal["done"] = "done"
    #: The board writes them: those who share work have labels of their own.
    labels: dict[str, str] = Field(
        default_factory=dict,
        exclude_if=lambda labels: not labels,
        description="labels that the job was submitted with; left out if it has none",
    )
    total: int = Field(
        description="how many there are in all of what this kind counts; of a search, hits before the cut to its limit"
    )
    complete: bool = Field(description="whether the result lacks nothing: false if `degraded` names anything")
    degraded: Annotated[
        tuple[Degradation, ...], Field(description="parts of the request that the result lacks; empty: none")
    ] = ()
    stages: Annotated[
        tuple[Stage, ...], Field(description="how each step of the job went; empty for kinds that do not report it")
    ] = ()
    timing: dict[str, float] = Field(
        default_factory=dict,
        description="milliseconds by name; `queued_ms` is the time from the submission until a worker began",
    )
    usage: dict[str, int] = Field(
        default_factory=dict,
        description="calls of model providers (`provider_calls`) and their `tokens`; of these the answers'"
        " (`completion_tokens`) where the provider says; empty for kinds that call none",
    )
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
