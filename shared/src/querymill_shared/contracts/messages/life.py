"""What happens to messages after ingestion: embedding, embedding with another model, dropping."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from querymill_shared.contracts.fields import Growing, Id, Lane, Name, Request
from querymill_shared.contracts.loading import MAX_DOCUMENTS
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

#: Parts of a collection that `ReembedMessages` embeds side by side. Each is a step.
PARTS = 8


class EmbedMessages(Request, Asks["EmbedMessagesResult"]):
    """Embed the passages of a session that have no vector. Ingestion submits it. Nothing is embedded twice."""

    queue: ClassVar[Queue] = Queue.EMBED
    kind: Literal["embed_messages"] = "embed_messages"
    lane: Lane = Lane.BULK
    session_id: Id
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the one step of embedding, which a later attempt resumes."""
        return ("embed",)


class EmbedMessagesResult(JobResult):
    """What embedding did. ``total`` counts the vectors made. ``degraded`` names passages that the provider refused."""

    kind: Literal["embed_messages"] = "embed_messages"
    session_id: str


class EmbedSessions(Request, Asks["EmbedSessionsResult"]):
    """Embed the passages of many sessions that have no vector. Loading submits it. Nothing is embedded twice."""

    queue: ClassVar[Queue] = Queue.EMBED
    kind: Literal["embed_sessions"] = "embed_sessions"
    lane: Lane = Lane.BULK
    session_ids: Annotated[tuple[Id, ...], Field(min_length=1, max_length=MAX_DOCUMENTS)]
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the one step of embedding, which a later attempt resumes."""
        return ("embed",)


class EmbedSessionsResult(JobResult):
    """What embedding did. ``total`` counts the vectors made. ``degraded`` names passages that the provider refused."""

    kind: Literal["embed_sessions"] = "embed_sessions"


class ReembedMessages(Request, Asks["ReembedMessagesResult"]):
    """Embed all messages of a collection with another model, then search the collection by that model.

    The new vectors are stored next to those of the previous model, which searches use until the switch. The switch is
    one transaction. ``model`` is the EMBEDDING_MODEL of the workers. Its vectors may have another dimension.
    """

    queue: ClassVar[Queue] = Queue.EMBED
    kind: Literal["reembed_messages"] = "reembed_messages"
    lane: Lane = Lane.BULK
    model: Name
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Return a step for each part of the collection. A later attempt resumes a part, and the last part switches."""
        return tuple(f"part-{number}" for number in range(PARTS))


class ReembedMessagesResult(JobResult):
    """The collection is searched by ``model`` now. ``total`` counts the vectors made by the job.

    ``degraded`` names passages that the provider refused: they are found by their words.
    """

    kind: Literal["reembed_messages"] = "reembed_messages"
    collection: str
    model: str


class ForgetSession(Request, Asks["ForgetResult"]):
    """Drop a session: its messages, their index entries and their vectors. Idempotent."""

    queue: ClassVar[Queue] = Queue.INGEST
    kind: Literal["forget_messages"] = "forget_messages"
    lane: Lane = Lane.NORMAL
    session_id: Id
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the one step of dropping a session."""
        return ("forget",)


class ForgetResult(JobResult):
    """What was dropped. ``total`` counts its passages.

    ``outcome`` is "absent" if there was no such session, and "superseded" if one was ingested that was accepted later:
    it stays.
    """

    kind: Literal["forget_messages"] = "forget_messages"
    session_id: str
    outcome: Annotated[Literal["forgotten", "absent", "superseded"], Growing]
