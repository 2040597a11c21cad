"""Steps that nobody runs: each holds what a part of a job, of several steps, came to."""

from pydantic_core import to_json

from querymill_shared.board import keys
from querymill_shared.board.attempts import encode_facts
from querymill_shared.board.calls import ScriptCall
from querymill_shared.board.picture import Outcome, Picture
from querymill_shared.board.replies import picture_of
from querymill_shared.contracts.events import StageFinished


def add_closed_step(job_id: str, name: str, outcome: Outcome) -> ScriptCall[Picture | None]:
    """Add a step that is closed already. Return the picture of the job with it, or None if the job has ended."""
    event = StageFinished(
        stage=name, state=outcome.state, ms=outcome.ms, reason=outcome.reason or None, code=outcome.code
    )
    return ScriptCall(
        "add_closed",
        keys.of_job(job_id, "job", "steps", "events", "hits", "queries"),
        [
            name,
            outcome.state,
            outcome.reason,
            encode_facts(outcome.code, outcome.parts),
            event.model_dump_json(),
            to_json(outcome.notes).decode(),
        ],
        lambda returned: picture_of(returned, job_id, None) if returned else None,
    )
