"""The calls about dead jobs: jobs that failed too often, kept until they are replayed or dropped."""

from querymill_shared.board import keys
from querymill_shared.board.calls import SETTLE_MARGIN_MS, ScriptCall


def replay(job_id: str) -> ScriptCall[bool]:
    """Open a dead job again. Return False if the job is not dead."""
    names = keys.of_job(
        job_id, "job", "steps", "events", "due", "dead", "hits", "queries", "request", "result", "rings"
    )
    return ScriptCall("replay", names, [job_id, SETTLE_MARGIN_MS], bool)


def drop(job_id: str) -> ScriptCall[bool]:
    """Delete a dead job. Return False if the job is not dead."""
    names = keys.of_job(job_id, "job", "dead", "steps", "events", "hits", "queries", "request", "result", "rings")
    return ScriptCall("drop", names, [job_id], bool)
