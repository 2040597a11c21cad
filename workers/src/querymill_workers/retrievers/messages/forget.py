"""Drop a session: first its index entries, then its rows, so that every index entry has a row if a worker dies."""

from typing import Final, Literal

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.messages.life import ForgetResult, ForgetSession
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.retrievers.messages.ingest import unindex_passages
from querymill_workers.retrievers.messages.ports import MessagePorts


class ForgetNotes(Notes):
    """Whether there was a session, and how many passages of it were dropped."""

    outcome: Literal["forgotten", "absent"]
    total: int


def step(claim: Claim, request: ForgetSession, ports: MessagePorts) -> None:
    """Drop one session. A session that does not exist is not an error."""
    collection, session_id = request.collection, request.session_id
    with ports.sessions.changing(collection, session_id):
        passages = ports.sessions.passages_except(collection, session_id, keeping=[])
        unindex_passages(collection, passages, ports)
        was_there = ports.sessions.forget(collection, session_id)
    notes = ForgetNotes(outcome="forgotten" if was_there else "absent", total=len(passages))
    hand_in(claim, request, notes, ENDING, ports)


def to_result(request: ForgetSession, picture: Picture, notes: ForgetNotes) -> ForgetResult:
    """Build the result from the notes."""
    return ForgetResult(
        job_id=picture.record.job_id,
        session_id=request.session_id,
        outcome=notes.outcome,
        total=notes.total,
        complete=True,
    )


ENDING: Final = Ending(ForgetNotes, to_result)
