"""What happens to messages after ingestion: embedding, embedding with another model, dropping."""

from typing import ClassVar, Literal

from querymill_shared.contracts.fields import Id, Lane, Name, Request
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
    """What embedding did. ``total`` counts the vectors made."""

    kind: Literal["embed_messages"] = "embed_messages"
    session_id: str


class ReembedMessages(Request, Asks["ReembedResult"]):
    """Embed all messages of a collection with another model, then search the collection by that model.

    The new vectors are stored next to those of the previous model, which searches use until the switch. The switch is
    one transaction. ``model`` is the EMBEDDING_MODEL of the workers, and has the dimension of the previous model.
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


class ReembedResult(JobResult):
    """The collection is searched by ``model`` now. ``total`` counts the vectors made by the job."""

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
    """What was dropped. ``total`` counts its passages. ``outcome`` is "absent" if there was no such session."""

    kind: Literal["forget_messages"] = "forget_messages"
    session_id: str
    outcome: Literal["forgotten", "absent"]
