"""The life of messages after they are taken in: embedded, embedded anew by another model, forgotten."""

from typing import Literal

from querymill_shared.contracts.fields import Id, Lane, Name, Request
from querymill_shared.contracts.results import Asks, JobResult

#: Parts of a collection that are embedded anew side by side; each is a step.
PARTS = 8


class EmbedMessages(Request, Asks["EmbedMessagesResult"]):
    """Embed what of a session lacks its vector. Ingestion asks for it; nothing is embedded twice."""

    kind: Literal["embed_messages"] = "embed_messages"
    lane: Lane = Lane.BULK
    session_id: Id
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Embedding is one step, resumed where it was cut."""
        return ("embed",)


class EmbedMessagesResult(JobResult):
    """``total`` counts the vectors that were made."""

    kind: Literal["embed_messages"] = "embed_messages"
    session_id: str


class ReembedMessages(Request, Asks["ReembedResult"]):
    """Embed all messages of a collection by another model, and what is pending; then search by that model.

    The vectors are made beside those of the model before, by which searches go on; the switch is one transaction.
    ``model`` is the EMBEDDING_MODEL of the workers, and of the same dimension as the one before.
    """

    kind: Literal["reembed_messages"] = "reembed_messages"
    lane: Lane = Lane.BULK
    model: Name
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """The parts of the collection; each is resumed where it was cut, and the last one switches."""
        return tuple(f"part-{number}" for number in range(PARTS))


class ReembedResult(JobResult):
    """The collection is searched by ``model`` now. ``total`` counts the vectors that this job made."""

    kind: Literal["reembed_messages"] = "reembed_messages"
    collection: str
    model: str


class ForgetSession(Request, Asks["ForgetResult"]):
    """Drop a session: its messages, their words and their vectors. Doing it twice changes nothing."""

    kind: Literal["forget_messages"] = "forget_messages"
    lane: Lane = Lane.NORMAL
    session_id: Id
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Forgetting is one step."""
        return ("forget",)


class ForgetResult(JobResult):
    """What was dropped; ``total`` counts what was found of it. ``outcome`` is "absent" when there was no session."""

    kind: Literal["forget_messages"] = "forget_messages"
    session_id: str
    outcome: Literal["forgotten", "absent"]
