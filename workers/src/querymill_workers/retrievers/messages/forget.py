"""Forgetting a session: its words first, so that a kill leaves no words without a row, then its rows."""

from collections.abc import Sequence

from querymill_shared.board import Claim
from querymill_shared.contracts.messages.life import ForgetResult, ForgetSession
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs import one_step
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.one_step import Notes
from querymill_workers.retrievers.messages.ingest import take_words


def step(claim: Claim, request: ForgetSession, ports: Ports) -> Sequence[Bell]:
    """Forget one session; one that is not there is no error."""
    collection, session_id = request.collection, request.session_id
    with ports.sessions.changing(collection, session_id):
        leaving = ports.sessions.leaving(collection, session_id, keeping=[])
        take_words(collection, leaving, ports)
        was_there = ports.sessions.forget(collection, session_id)
    notes = {"outcome": "forgotten" if was_there else "absent", "total": len(leaving)}
    return one_step.hand_in(claim, notes, to_result, ports)


def to_result(request: ForgetSession, job_id: str, notes: Notes) -> ForgetResult:
    """Say what was forgotten."""
    return ForgetResult(job_id=job_id, session_id=request.session_id, complete=True, **notes)
