"""Bringing conversations in: whole sessions, single live messages, and taking a session away."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from querymill_shared.contracts.fields import Contract, Id, Lane, Moment, Name, Request
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.contracts.sessions import MOST_MESSAGES, ChatMessage, ChatSession

Outcome = Literal["ingested", "unchanged", "dropped"]


class IngestConversation(Request, Asks["IngestConversationResult"]):
    """Take one session in, whole, in place of what is there of it; the same again changes nothing."""

    kind: Literal["ingest_conversations"] = "ingest_conversations"
    lane: Lane = Lane.BULK
    session: ChatSession
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Ingestion is one step."""
        return ("ingest",)


class SessionUpdate(Contract):
    """What a chat backend tells of a session: messages that came, or that were edited.

    A message stands in place of one with its id, else at the end. Each needs an id, so that an update told twice
    counts once. Without ``started_at`` a session that is not there yet begins with its first message.
    """

    session_id: Id
    name: Name | None = None
    user_name: Name | None = None
    started_at: Moment | None = None
    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1, max_length=MOST_MESSAGES)]

    @model_validator(mode="after")
    def _messages_can_be_told_apart(self) -> "SessionUpdate":
        ids = [message.message_id for message in self.messages]
        if None in ids:
            raise ValueError("messages: a message of an update needs a message_id")
        if len(set(ids)) != len(ids):
            raise ValueError("messages: every message_id must occur once")
        return self


class UpdateConversation(Request, Asks["IngestConversationResult"]):
    """Add live messages to a session, or change them."""

    kind: Literal["update_conversation"] = "update_conversation"
    lane: Lane = Lane.NORMAL
    update: SessionUpdate
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """An update is one step."""
        return ("update",)


class DropConversation(Request, Asks["IngestConversationResult"]):
    """Take a session away; one that is not there is taken away already."""

    kind: Literal["drop_conversation"] = "drop_conversation"
    lane: Lane = Lane.NORMAL
    session_id: Id
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Dropping is one step."""
        return ("drop",)


class IngestConversationResult(JobResult):
    """What became of a session; ``total`` counts its messages now."""

    kind: Literal["ingest_conversations", "update_conversation", "drop_conversation"] = "ingest_conversations"
    session_id: str
    outcome: Outcome
