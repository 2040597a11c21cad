"""The `ingest_messages` kind: ingest a chat session, so that its messages can be searched."""

from typing import Annotated, ClassVar, Literal

from querymill_shared.contracts.fields import (
    Growing,
    Lane,
    Request,
)
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.contracts.sessions import ChatSession
from querymill_shared.queues import Queue


class IngestSession(Request, Asks["IngestSessionResult"]):
    """Ingest one whole session. Stored messages that the session no longer has are dropped.

    When the job ends, the messages are searchable by text. They are searchable by vector when the embedding job that
    it submits has ended. Idempotent by content: an unchanged message is not embedded again.
    """

    queue: ClassVar[Queue] = Queue.INGEST
    kind: Literal["ingest_messages"] = "ingest_messages"
    lane: Lane = Lane.BULK
    session: ChatSession
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the one step of ingestion, which a later attempt resumes."""
        return ("ingest",)


class IngestSessionResult(JobResult):
    """What ingestion did.

    ``outcome`` is "unchanged" if the same content was stored already, "superseded" if a session that was accepted later
    is stored, and "forgotten" if the session was forgotten since this was accepted.

    ``total`` counts the session's passages: each message alone, and each with its neighbours. ``embedding_job`` is the
    id of the job that makes the missing vectors, or None if none is missing.
    """

    kind: Literal["ingest_messages"] = "ingest_messages"
    session_id: str
    outcome: Annotated[Literal["ingested", "unchanged", "superseded", "forgotten"], Growing]
    embedding_job: str | None = None
