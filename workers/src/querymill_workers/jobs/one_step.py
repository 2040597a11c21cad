"""Jobs of one step: the job ends when the step closes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from querymill_shared.board import Claim, Outcome, Picture
from querymill_shared.contracts.results import JobResult
from querymill_workers.jobs import tally, verdicts
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.flow import Flow, flow
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.ports import Common

R = TypeVar("R")
N = TypeVar("N", bound=Notes)
P = TypeVar("P", bound=Common)


@dataclass(frozen=True, slots=True)
class Ending(Generic[R, N]):
    """How a job of one step ends: the type of its step's notes, and the function that builds the result from them."""

    notes: type[N]
    to_result: Callable[[R, Picture, N], JobResult]


def hand_in(claim: Claim, request: R, notes: N, ending: Ending[R, N], ports: Common) -> None:
    """Close the step on the board, and settle the job."""
    picture = ports.board.finish(claim, Outcome(notes=notes.for_board(), parts=tally.current().close()))
    if picture is not None:
        conclude(picture, request, ending, ports)


def conclude(picture: Picture, request: R, ending: Ending[R, N], ports: Common) -> None:
    """Settle the job once its step has closed: with the result, or with the reason why the step failed."""
    (only,) = picture.steps
    if not only.is_closed:
        return
    if only.state == "failed":
        verdict = verdicts.lost(picture, only.reason)
    else:
        verdict = verdicts.done(ending.to_result(request, picture, ending.notes.of(only)))
    ports.board.settle(picture.record.job_id, verdict)


def one_step(request: R, step: Callable[[Claim, R, P], Sequence[Bell] | None], ending: Ending[R, N]) -> Flow[P]:
    """Return the flow of a job of one step."""
    return flow(request, step, lambda picture, asked, ports: conclude(picture, asked, ending, ports))
