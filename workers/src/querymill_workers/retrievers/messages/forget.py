"""Forgetting a session: its words first, so that a kill leaves no words without a row, then its rows."""

from collections.abc import Sequence
from typing import Final, Literal

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.messages.life import ForgetResult, ForgetSession
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.retrievers.messages.ingest import unindex_passages
from querymill_workers.retrievers.messages.ports import MessagePorts


class ForgetNotes(Notes):
    """What was forgotten: ``total`` passages, or nothing where there was no session."""

    outcome: Literal["forgotten", "absent"]
    total: int


def step(claim: Claim, request: ForgetSession, ports: MessagePorts) -> Sequence[Bell]:
    """Forget one session; one that is not there is no error."""
    collection, session_id = request.collection, request.session_id
    with ports.sessions.changing(collection, session_id):
        leaving = ports.sessions.passages_except(collection, session_id, keeping=[])
        unindex_passages(collection, leaving, ports)
        was_there = ports.sessions.forget(collection, session_id)
    notes = ForgetNotes(outcome="forgotten" if was_there else "absent", total=len(leaving))
    hand_in(claim, request, notes, ENDING, ports)
    return []


def to_result(request: ForgetSession, picture: Picture, notes: ForgetNotes) -> ForgetResult:
    """Say what was forgotten."""
    return ForgetResult(
        job_id=picture.record.job_id,
        session_id=request.session_id,
        outcome=notes.outcome,
        total=notes.total,
        complete=True,
    )


ENDING: Final = Ending(ForgetNotes, to_result)
