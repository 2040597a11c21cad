"""Jobs of one step: the step closes, and the job with it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from querymill_shared.board import Claim, Outcome, Picture, Verdict
from querymill_shared.contracts.results import JobResult
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.bell import Bell

Notes = Mapping[str, Any]
#: Makes a job's result of its request, its id and what its step noted.
ToResult = Callable[[Any, str, Notes], JobResult]


def hand_in(claim: Claim, notes: Notes, to_result: ToResult, ports: Ports) -> Sequence[Bell]:
    """Close the step on the board and settle the job."""
    picture = ports.board.finish(claim, Outcome(notes=notes))
    if picture is not None:
        conclude(picture, to_result, ports)
    return []


def conclude(picture: Picture, to_result: ToResult, ports: Ports) -> None:
    """Settle: the job is done, or it fails with its step's reason (dead when its workers kept dying)."""
    (only,) = picture.steps
    if picture.request is None or not only.is_closed:
        return
    if only.state == "failed":
        verdict = Verdict("dead" if only.notes.get("dead") else "failed", reason=only.reason)
    else:
        result = to_result(picture.request, picture.record.job_id, only.notes)
        verdict = Verdict("done", result=result.model_dump_json())
    ports.board.settle(picture.record.job_id, verdict)
