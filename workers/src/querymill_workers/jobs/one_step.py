"""Jobs of one step: the job ends when the step closes."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from querymill_shared.board import Claim, Outcome, Picture, Verdict, foresee
from querymill_shared.contracts.results import JobResult
from querymill_shared.values import value
from querymill_workers.jobs import job_counts, verdicts
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.flow import Flow, flow
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.ports import Common

R = TypeVar("R")
N = TypeVar("N", bound=Notes)
P = TypeVar("P", bound=Common)


@value
class Ending(Generic[R, N]):
    """How a job of one step ends: the type of its step's notes, and the function that builds the result from them."""

    notes: type[N]
    to_result: Callable[[R, Picture, N], JobResult]


def hand_in(claim: Claim, request: R, notes: N, ending: Ending[R, N], ports: Common) -> None:
    """Close the step on the board, and settle the job."""
    close(claim, Outcome(notes=notes.for_board(), parts=job_counts.current().close()), request, ending, ports)


def close(claim: Claim, outcome: Outcome, request: R, ending: Ending[R, N], ports: Common) -> None:
    """Close the step on the board with its outcome, and settle the job: at once if its end can be foreseen."""
    foreseen = foresee(claim, outcome)
    verdict = None if foreseen is None else verdict_of(foreseen, request, ending)
    picture = ports.board.finish(claim, outcome, verdict=verdict)
    if picture is not None:
        conclude(picture, request, ending, ports)


def conclude(picture: Picture, request: R, ending: Ending[R, N], ports: Common) -> None:
    """Settle the job once its step has closed: with the result, or with the reason why the step failed."""
    (only,) = picture.steps
    if only.is_closed:
        ports.board.settle(picture.record.job_id, verdict_of(picture, request, ending))


def verdict_of(picture: Picture, request: R, ending: Ending[R, N]) -> Verdict:
    """Return the verdict of a job whose step has closed."""
    (only,) = picture.steps
    if only.state == "failed":
        return verdicts.lost(picture, only.reason)
    return verdicts.done(ending.to_result(request, picture, ending.notes.of(only)), picture)


def one_step(request: R, step: Callable[[Claim, R, P], Sequence[Bell] | None], ending: Ending[R, N]) -> Flow[P]:
    """Return the flow of a job of one step."""
    return flow(request, step, lambda picture, asked, ports: conclude(picture, asked, ending, ports))
