"""Verdicts: a job is done with a result, or lost with a reason."""

from querymill_shared.board import Picture, Verdict
from querymill_shared.contracts.results import JobResult
from querymill_workers.jobs.notes import FailureNotes


def done(result: JobResult) -> Verdict:
    """Return the verdict of a job with a result."""
    return Verdict("done", result=result.model_dump_json(), complete=result.complete, degraded=len(result.degraded))


def lost(picture: Picture, reason: str) -> Verdict:
    """Return the verdict of a job without a result: dead if the workers of a step kept dying, else failed."""
    dead = any(FailureNotes.of(step).dead for step in picture.steps)
    codes = [step.code for step in picture.steps if step.state == "failed" and step.code is not None]
    return Verdict("dead" if dead else "failed", reason=reason, code=codes[0] if codes else None)
