"""Drop a session: rows, words and vectors, in one transaction that leaves a tombstone.

What the board and the caches still hold of it goes afterwards.
"""

from typing import Annotated, Final, Literal

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.fields import Growing
from querymill_shared.contracts.messages.life import ForgetResult, ForgetSession
from querymill_workers.documents.affected_jobs import Forgotten
from querymill_workers.documents.cleaning import clean
from querymill_workers.documents.late_writes import forgetting_vectors
from querymill_workers.documents.texts import forgotten_texts
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.ledger.ports import version_of
from querymill_workers.retrievers.messages.ingest import KIND, drop_words
from querymill_workers.retrievers.messages.ports import DroppedSession, DropPorts, MessagePorts


class ForgetNotes(Notes):
    """Whether there was a session, and how many passages of it were dropped."""

    outcome: Annotated[Literal["forgotten", "absent", "superseded"], Growing]
    total: int


def step(claim: Claim, request: ForgetSession, ports: MessagePorts) -> None:
    """Drop one session. A session that does not exist is not an error, and one that was ingested since stays."""
    collection, session_id = request.collection, request.session_id
    texts = forgotten_texts(claim, ports)
    with ports.ledger.dropping(collection, KIND, session_id, version_of(claim)) as standing:
        dropped = None
        if standing.newest:
            with forgetting_vectors(collection, session_id, KIND, ports, texts):
                dropped = drop_session(collection, session_id, ports)
    if dropped is not None:
        clean(claim, Forgotten(KIND, {session_id}, {}, texts=texts), ports)
        ports.samples.renew_soon()
    notes = (
        ForgetNotes(outcome="superseded", total=0)
        if dropped is None
        else ForgetNotes(outcome="forgotten" if dropped.was_there else "absent", total=dropped.passages)
    )
    hand_in(claim, request, notes, ENDING, ports)


def drop_session(collection: str, session_id: str, ports: DropPorts) -> DroppedSession:
    """Drop all that is stored of a session, within a change of the ledger."""
    dropped = ports.sessions.forget(collection, session_id)
    drop_words(collection, dropped.texts, ports)
    ports.vectors["messages"].begin_embedding(collection, [session_id])
    return dropped


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
