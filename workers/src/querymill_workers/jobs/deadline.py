"""Deadlines: until when a model may be called, and how a job without a result ends when its time is up."""

from dataclasses import dataclass
from typing import Final

from querymill_shared.board import Claim, Picture, Verdict
from querymill_shared.contracts.fields import Lane, Request
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.jobs.ports import Common

#: The reason given for a part that is missing although nothing failed.
CUT: Final = "cut by the deadline"


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf a model is called: the collection, the lane, and until when.

    ``expires_at`` is in monotonic seconds. None means without end.
    """

    collection: str
    lane: Lane
    expires_at: float | None = None


def caller_of(claim: Claim, request: Request, ports: Common, *, margin_s: float, what: str) -> Caller:
    """Return the caller of a model, whose time ends ``margin_s`` seconds before the job's deadline.

    Args:
        claim: The step that calls the model.
        request: The job's request.
        ports: The clock to compare the deadline with.
        margin_s: How long the rest of the step may take, in seconds.
        what: What the error calls the model, such as "the chat model".

    Raises:
        Unavailable: No time is left for a call.
    """
    until = None if claim.expires_at is None else claim.expires_at - margin_s
    if until is not None and until <= ports.clock():
        raise Unavailable(f"{CUT} before {what} was asked")
    return Caller(request.collection, request.lane, until)


def fail_at_deadline(picture: Picture, ports: Common) -> None:
    """Fail a job that has no partial result to return."""
    ports.board.settle(picture.record.job_id, Verdict("failed", reason="its deadline passed"))
