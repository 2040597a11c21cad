"""The `ingest_session` kind: a chat session in, its messages searchable."""

from typing import Literal

from querymill_shared.contracts.fields import (
    Lane,
    Request,
)
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.contracts.sessions import ChatSession


class IngestSession(Request, Asks["IngestSessionResult"]):
    """Take one session in, whole: what is there of it and not given any more goes.

    Its messages are found by their words when this ends, and by their vectors when the embedding ends that it asks
    for. Idempotent by content: a message that is there unchanged is not embedded again.
    """

    kind: Literal["ingest_messages"] = "ingest_messages"
    lane: Lane = Lane.BULK
    session: ChatSession
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Ingestion is one step, resumed where it was cut."""
        return ("ingest",)


class IngestSessionResult(JobResult):
    """What ingestion did; ``outcome`` is "unchanged" when the same content was already there.

    ``total`` counts what is found of the session. ``embedding_job`` is the job that makes the vectors which are
    lacking, None when none is.
    """

    kind: Literal["ingest_messages"] = "ingest_messages"
    session_id: str
    outcome: Literal["ingested", "unchanged"]
    embedding_job: str | None = None
