"""How a job will stand when its only step has closed: its worker need not ask the board before it ends the job."""

import time

from querymill_shared.board.attempts import encode_facts
from querymill_shared.board.picture import Claim, Outcome, Picture, Record, Step


def foresee(held: Claim, outcome: Outcome) -> Picture | None:
    """Return the picture of a job as it will be when a step has closed, or None if the job has or had other steps.

    It is what `Board.finish` would return, but the moment at which the step ends is this one.
    """
    alone, request = held.alone, held.request
    if alone is None:
        return None
    step = Step(
        name=held.step,
        state=outcome.state,
        attempt=held.attempt,
        reason=outcome.reason,
        started=alone.started,
        ended=round(time.monotonic() + alone.ahead_s, 3),
        notes=outcome.notes,
        queued=held.submitted,
        life=held.life,
        facts=encode_facts(outcome.code, outcome.parts),
    )
    record = Record(
        job_id=held.job_id,
        kind=request.kind,
        collection=request.collection,
        lane=request.lane,
        state="running",
        created=alone.created,
        deadline=None if held.expires_at is None else round(held.expires_at + alone.ahead_s, 3),
        ended=None,
        reason="",
        open_steps=0,
    )
    queues = {held.step: request.queue_of(held.step).value}
    return Picture(record, (step,), outcome.hits, {}, request, queues=queues, asked=request)
