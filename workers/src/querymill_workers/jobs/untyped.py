"""Jobs of one step whose notes have no type yet."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from querymill_shared.board import Claim, Outcome, Picture
from querymill_shared.contracts.results import JobResult
from querymill_workers.jobs import verdicts
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.ports import Common

Notes = Mapping[str, Any]
#: Makes a job's result of its request, its id and what its step noted.
ToResult = Callable[[Any, str, Notes], JobResult]


def hand_in(claim: Claim, notes: Notes, to_result: ToResult, ports: Common) -> Sequence[Bell]:
    """Close the step on the board and settle the job."""
    picture = ports.board.finish(claim, Outcome(notes=notes))
    if picture is not None:
        conclude(picture, to_result, ports)
    return []


def conclude(picture: Picture, to_result: ToResult, ports: Common) -> None:
    """Settle: the job is done, or it fails with its step's reason (dead when its workers kept dying)."""
    (only,) = picture.steps
    if picture.request is None or not only.is_closed:
        return
    if only.state == "failed":
        verdict = verdicts.lost(picture, only.reason)
    else:
        verdict = verdicts.done(to_result(picture.request, picture.record.job_id, only.notes))
    ports.board.settle(picture.record.job_id, verdict)


def concluding(to_result: ToResult) -> Callable[[Picture, Any, Common], None]:
    """Conclude by one function that makes the result."""
    return lambda picture, _, ports: conclude(picture, to_result, ports)
