"""Deadlines: until when a model may be asked, and how a job ends when its time is up."""

from dataclasses import dataclass
from typing import Final

from querymill_shared.board import Claim, Picture, Verdict
from querymill_shared.contracts.fields import Lane, Request
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.jobs.ports import Common

#: Why a part is missing that nothing else went wrong with.
CUT: Final = "cut by the deadline"


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf a model is asked: which collection, in which lane, and until when.

    ``expires_at`` is in monotonic seconds; None has no end.
    """

    collection: str
    lane: Lane
    expires_at: float | None = None


def caller_of(claim: Claim, request: Request, ports: Common, *, margin_s: float, what: str) -> Caller:
    """Say on whose behalf a model is asked, ``margin_s`` seconds short of the job's deadline.

    Args:
        claim: The step that asks.
        request: The job's request.
        ports: Where the clock is from.
        margin_s: What the rest of the step is left, in seconds.
        what: The model, as the error names it: "the chat model".

    Raises:
        Unavailable: No time is left to ask.
    """
    until = None if claim.expires_at is None else claim.expires_at - margin_s
    if until is not None and until <= ports.clock():
        raise Unavailable(f"{CUT} before {what} was asked")
    return Caller(request.collection, request.lane, until)


def fail_at_deadline(picture: Picture, ports: Common) -> None:
    """End a job that has nothing to show before it is whole."""
    ports.board.settle(picture.record.job_id, Verdict("failed", reason="its deadline passed"))
