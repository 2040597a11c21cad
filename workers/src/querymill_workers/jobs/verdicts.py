"""How a job ends: done with a result, or lost with the reason."""

from querymill_shared.board import Picture, Verdict
from querymill_shared.contracts.results import JobResult
from querymill_workers.jobs.notes import FailureNotes


def done(result: JobResult) -> Verdict:
    """End with a result."""
    return Verdict("done", result=result.model_dump_json(), complete=result.complete)


def lost(picture: Picture, reason: str) -> Verdict:
    """End without one: dead when workers kept dying over one of its steps, else failed."""
    dead = any(FailureNotes.of(step).dead for step in picture.steps)
    return Verdict("dead" if dead else "failed", reason=reason)
