"""What happens to conversations after ingestion: embedding their passages, also with another model."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, FiniteFloat

from querymill_shared.contracts.fields import Id, Lane, Name, Request
from querymill_shared.contracts.loading import MAX_DOCUMENTS
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue


class EmbedConversations(Request, Asks["EmbedConversationsResult"]):
    """Embed the passages of sessions that have no vector. Ingestion submits it. Nothing is embedded twice.

    It begins ``settle_s`` seconds after it was submitted, and embeds what the sessions have gained by then too.
    """

    queue: ClassVar[Queue] = Queue.EMBED
    kind: Literal["embed_conversations"] = "embed_conversations"
    lane: Lane = Lane.BULK
    session_ids: Annotated[tuple[Id, ...], Field(min_length=1, max_length=MAX_DOCUMENTS)]
    # A worker of the release before ignores it, and embeds at once.
    settle_s: Annotated[FiniteFloat, Field(ge=0, le=600)] = Field(default=0.0, exclude_if=lambda seconds: not seconds)
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the one step of embedding, which a later attempt resumes."""
        return ("embed",)


class EmbedConversationsResult(JobResult):
    """What embedding did. ``total`` counts the vectors made. ``degraded`` tells how many texts the provider refused."""

    kind: Literal["embed_conversations"] = "embed_conversations"
    collection: str


class ReembedConversations(Request, Asks["ReembedConversationsResult"]):
    """Embed all conversations of a collection with another model, then search the collection by that model.

    The new vectors stand beside those of the previous model, which searches compare until the switch. The switch is one
    statement. ``model`` is the EMBEDDING_MODEL of the workers; its vectors may have any dimension. Texts that its
    provider refused before are tried again.
    """

    queue: ClassVar[Queue] = Queue.EMBED
    kind: Literal["reembed_conversations"] = "reembed_conversations"
    lane: Lane = Lane.BULK
    model: Name
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the one step, which a later attempt resumes."""
        return ("reembed",)


class ReembedConversationsResult(JobResult):
    """The collection is searched by ``model`` now. ``total`` counts the vectors made by the job."""

    kind: Literal["reembed_conversations"] = "reembed_conversations"
    collection: str
    model: str
