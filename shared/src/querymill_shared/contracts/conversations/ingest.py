"""Ingest whole sessions or live messages into `conversations`, and drop sessions."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from querymill_shared.contracts.fields import Contract, Growing, Id, Lane, Moment, Name, Request
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.contracts.sessions import MAX_MESSAGES, ChatMessage, ChatSession
from querymill_shared.queues import Queue

#: A write that comes too late is "superseded" by a newer whole session, or "forgotten" with a later drop.
Outcome = Literal["ingested", "unchanged", "dropped", "superseded", "forgotten"]


class IngestConversation(Request, Asks["IngestConversationResult"]):
    """Ingest one whole session in place of its stored version. Ingesting the same content again changes nothing."""

    queue: ClassVar[Queue] = Queue.INGEST
    kind: Literal["ingest_conversations"] = "ingest_conversations"
    lane: Lane = Lane.BULK
    session: ChatSession
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Ingestion is one step."""
        return ("ingest",)


class SessionUpdate(Contract):
    """New or edited messages of a session, as a chat backend sends them.

    A message replaces the stored message with its id, or else is added at the end. Each message needs an id, so that
    sending an update twice has the effect of one. A new session without ``started_at`` begins with its earliest
    message.
    """

    session_id: Id
    name: Name | None = None
    user_name: Name | None = None
    started_at: Moment | None = None
    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1, max_length=MAX_MESSAGES)]

    @model_validator(mode="after")
    def _messages_can_be_told_apart(self) -> "SessionUpdate":
        ids = [message.message_id for message in self.messages]
        if None in ids:
            raise ValueError("messages: every message of an update needs a message_id")
        if len(set(ids)) != len(ids):
            raise ValueError("messages: every message_id must occur once")
        return self


class UpdateConversation(Request, Asks["IngestConversationResult"]):
    """Add live messages to a session, or replace them."""

    queue: ClassVar[Queue] = Queue.INGEST
    kind: Literal["update_conversation"] = "update_conversation"
    lane: Lane = Lane.NORMAL
    update: SessionUpdate
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """An update is one step."""
        return ("update",)


class DropConversation(Request, Asks["IngestConversationResult"]):
    """Drop a session. Dropping a session that is not stored changes nothing."""

    queue: ClassVar[Queue] = Queue.INGEST
    kind: Literal["drop_conversation"] = "drop_conversation"
    lane: Lane = Lane.NORMAL
    session_id: Id
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Dropping is one step."""
        return ("drop",)


class IngestConversationResult(JobResult):
    """The outcome for a session; ``total`` counts its messages after the change.

    The session is found by its words at once. ``embedding_job`` is the id of the job that makes the missing vectors of
    its passages, or None if none is missing.
    """

    kind: Literal["ingest_conversations", "update_conversation", "drop_conversation"] = "ingest_conversations"
    session_id: str
    outcome: Annotated[Outcome, Growing]
    embedding_job: str | None = None
