"""The results of jobs. Callers that share work share its result, which names the leader."""

from querymill_shared.board import keys
from querymill_shared.board.calls import ScriptCall


def result(job_id: str) -> ScriptCall[str | None]:
    """Return the result of a job as JSON, or None if there is none yet."""
    return ScriptCall(
        "result", keys.of_job(job_id, "job", "result"), [], lambda returned: read_result(job_id, *returned)
    )


def read_result(job_id: str, result: str | None = None, leader: str | None = None) -> str | None:
    """Return a job's result as it stands on the board: the one that a leader shares is given the job's own id."""
    return result if result is None or leader is None else readdress(result, leader, job_id)


def readdress(shared: str, leader: str, job_id: str) -> str:
    """Return a result that several jobs share as that of one of them."""
    # It is the first field of every result.
    return shared.replace(f'"job_id":"{leader}"', f'"job_id":"{job_id}"', 1)
