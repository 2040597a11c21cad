"""Deadlines: until when a model may be called, and how a job without a result ends when its time is up."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Final, Self

from querymill_shared.board import Claim, Picture, Verdict
from querymill_shared.contracts.codes import Code
from querymill_shared.contracts.fields import Lane, Request
from querymill_shared.contracts.search import Search
from querymill_shared.values import value
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.ports import Common

#: The reason given for a part that is missing although nothing failed.
CUT: Final = "cut by the deadline"
#: Where words can answer, the vector of a question is waited for no longer than this, in seconds.
EMBEDDING_PATIENCE_S: Final = 2.0
#: A call that waits for its turn looks this often whether its job has ended, in seconds.
LOOK_EVERY_S: Final = 0.5


def _never() -> bool:
    return False


@value
class Caller:
    """On whose behalf a model is called: the collection, the lane, and until when.

    ``owner`` is the id of the API key that pays, "" for none, and ``labels`` are those of the job. An extra is a call
    that the caller can do without, when little is left of the key's budget.

    ``expires_at`` is in monotonic seconds. None means without end. ``has_left`` tells whether the job has ended: then a
    call that still waits for its turn need not be made. ``late`` is why a call failed that was not answered by then.
    """

    collection: str
    lane: Lane
    expires_at: float | None = None
    has_left: Callable[[], bool] = field(default=_never, compare=False, repr=False)
    late: Code = field(default="deadline", compare=False)
    owner: str = field(default="", compare=False)
    labels: Mapping[str, str] = field(default_factory=dict, compare=False)
    is_extra: bool = field(default=False, compare=False)

    def for_extras(self) -> Self:
        """Return the same caller for a call that it can do without."""
        return replace(self, is_extra=True)

    @classmethod
    def of(
        cls,
        claim: Claim,
        request: Request | Search,
        ports: Common,
        *,
        until: float | None = None,
        late: Code = "deadline",
    ) -> Self:
        """Return the caller for a step, whose time ends with the job's, or ``until`` (monotonic seconds) if sooner."""
        times = [time for time in (claim.expires_at, until) if time is not None]
        return cls(
            request.collection, request.lane, min(times, default=None), _ending_of(claim, ports), late,
            owner=claim.owner, labels=claim.labels,
        )  # fmt: skip


def _ending_of(claim: Claim, ports: Common) -> Callable[[], bool]:
    """Return a function that tells whether the job has ended. It asks the board now and then, and never at first."""
    looked, over = ports.clock(), False

    def has_ended() -> bool:
        nonlocal looked, over
        if not over and ports.clock() - looked >= LOOK_EVERY_S:
            looked = ports.clock()
            over = ports.board.has_ended(claim.job_id)
        return over

    return has_ended


def caller_of(
    claim: Claim,
    request: Request | Search,
    ports: Common,
    *,
    margin_s: float,
    what: str,
    patience_s: float | None = None,
) -> Caller:
    """Return the caller of a model, whose time ends ``margin_s`` seconds before the job's deadline.

    Args:
        claim: The step that calls the model.
        request: The job's request.
        ports: The clock to compare the deadline with.
        margin_s: How long the rest of the step may take, in seconds.
        what: What the error calls the model, such as "the chat model".
        patience_s: How long the model is waited for at most, in seconds. None waits until the deadline.

    Raises:
        Unavailable: No time is left for a call.
    """
    until = None if claim.expires_at is None else claim.expires_at - margin_s
    if until is not None and until <= ports.clock():
        raise Unavailable(f"{CUT} before {what} was asked", code="deadline")
    patient_until = math.inf if patience_s is None else ports.clock() + patience_s
    if patient_until < (math.inf if until is None else until):
        return Caller.of(claim, request, ports, until=patient_until, late="slow")
    return Caller.of(claim, request, ports, until=until)


@contextmanager
def naming_lateness(caller: Caller) -> Iterator[None]:
    """Tell the end of the caller's patience from the job's deadline: nobody gains by a later deadline then.

    Raises:
        Refused: The time was up, with the caller's own reason as its code.
    """
    try:
        yield
    except (Unavailable, Refused) as error:
        if error.code != "deadline" or caller.late == "deadline":
            raise
        # Other callers may be told by the same error.
        raise Refused(str(error), code=caller.late) from error


def fail_at_deadline(picture: Picture, ports: Common) -> None:
    """Fail a job that has no partial result to return."""
    ports.board.settle(picture.record.job_id, late_verdict(picture))


def late_verdict(picture: Picture) -> Verdict:
    """Return the verdict of a job without a partial result, with the reasons why its steps were put back until then."""
    held_up = [step for step in picture.steps if step.state != "done" and step.reason]
    reason = "; ".join(["its deadline passed", *(f"{step.name}: {step.reason}" for step in held_up)])
    code: Code = next((step.code for step in held_up if step.code is not None), "deadline")
    return Verdict("failed", reason=reason, code=code)
