"""What the route of many jobs takes and answers, as the OpenAPI document describes it."""

from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from querymill.gateway.http.job_shapes import JobBody
from querymill.gateway.http.problems import ProblemBody
from querymill_shared.contracts.fields import Written

#: Jobs that one request may submit.
MAX_JOBS: Final = 100


class AskedJob(BaseModel):
    """A job to submit, with the key under which it is submitted once."""

    model_config = ConfigDict(extra="forbid")

    request: dict[str, Any] = Field(description="what is asked, as `POST /v1/jobs` takes it")
    idempotency_key: Annotated[str, Written(r"^[!-~]{1,255}$", "must be 1 to 255 visible characters")] | None = Field(
        None, description="what leads to the same job if the part is sent again"
    )


class AskedJobs(BaseModel):
    """Jobs to submit in one request."""

    model_config = ConfigDict(extra="forbid")

    jobs: Annotated[
        list[AskedJob],
        Field(
            min_length=1, max_length=MAX_JOBS, description="what to submit, in this order; each is answered by itself"
        ),
    ]


class JobParts(BaseModel):
    """The same, with each part as it came: a bad one costs no other."""

    model_config = ConfigDict(extra="forbid")

    jobs: Annotated[list[Any], Field(min_length=1, max_length=MAX_JOBS)]


class JobAnswer(BaseModel):
    """What became of a part.

    Attributes:
        status: status of the answer if the job were submitted by itself: 202 if it goes on
        job: the job; null: none was submitted
        replayed: whether the idempotency key led to an earlier job
        result: the result if it was there in time; a job that is done without one here has it behind its links
        problem: why nothing was submitted, or the job has no result; else null
    """

    status: int
    job: JobBody | None = None
    replayed: bool = False
    result: dict[str, Any] | None = None
    problem: ProblemBody | None = None


class JobAnswers(BaseModel):
    """What became of all parts.

    Attributes:
        jobs: what became of each part, in the order of the parts
    """

    jobs: list[JobAnswer]
