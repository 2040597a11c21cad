"""Verdicts: a job is done with a result, or lost with a reason."""

from querymill_shared.board import Picture, Verdict
from querymill_shared.contracts.costs import ModelCost, added
from querymill_shared.contracts.ingest import IngestResult
from querymill_shared.contracts.results import JobResult
from querymill_workers.jobs.deadline import CUT
from querymill_workers.jobs.notes import FailureNotes


def done(result: JobResult, picture: Picture) -> Verdict:
    """Return the verdict of a job with a result, which says what the job cost.

    A result of many documents stays if some of them failed.
    """
    return Verdict(
        "done",
        result=result.model_copy(update={"costs": costs_of(picture)}).model_dump_json(),
        complete=result.complete,
        degraded=len(result.degraded),
        stays=isinstance(result, IngestResult) and not result.complete,
    )


def costs_of(picture: Picture) -> tuple[ModelCost, ...]:
    """Return what a job cost, by model: all attempts at all steps, also those that failed."""
    return added(
        cost for step in picture.steps for attempt in step.attempts for part in attempt.parts for cost in part.costs
    )


def lost_search(picture: Picture) -> Verdict:
    """Return the verdict of a job in which no search succeeded, with the reason of each step."""
    reasons = "; ".join(f"{step.name}: {step.reason or CUT}" for step in picture.steps)
    return lost(picture, f"no search came through: {reasons}")


def lost(picture: Picture, reason: str) -> Verdict:
    """Return the verdict of a job without a result: dead if the workers of a step kept dying, else failed.

    One without a deadline stays: its caller may come back much later to read how it ended.
    """
    dead = any(FailureNotes.of(step).dead for step in picture.steps)
    mistakes = {FailureNotes.of(step).counts_as if step.state == "failed" else "" for step in picture.steps}
    codes = [step.code for step in picture.steps if step.state != "done" and step.code is not None]
    return Verdict(
        "dead" if dead else "failed",
        reason=reason,
        code=codes[0] if codes else None,
        # Of several steps, one that failed for a reason of its own makes the job a failure.
        counts_as=mistakes.pop() if len(mistakes) == 1 and not dead else "",
        stays=picture.request is not None and picture.request.deadline is None,
    )
