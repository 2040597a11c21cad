"""The store of conversations: whole sessions, with the stored parts of their ranks."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from querymill_shared.contracts.sessions import ChatSession, message_key
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.conversations.rules.rank import RankParts
from querymill_workers.retrievers.conversations.rules.references import Reference
from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts
from querymill_workers.words.ports import Space

#: The text index of sessions, which has one entry for each.
SPACE: Final[Space] = "conversations"


@dataclass(frozen=True, slots=True)
class ConversationMessage:
    """A message of a session. ``key`` names it within the session; ``created_at`` defaults to the session's start."""

    key: str
    message_id: str | None
    role: str | None
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session with the stored parts of its rank; ``last_active`` is the time of its latest message."""

    session_id: str
    name: str | None
    user_name: str | None
    started_at: datetime
    last_active: datetime
    messages: tuple[ConversationMessage, ...]
    parts: RankParts


@dataclass(frozen=True, slots=True)
class ConversationInfo:
    """What is known of a session without its messages, except the text of the first: ``opening``."""

    session_id: str
    name: str | None
    user_name: str | None
    started_at: datetime
    last_active: datetime
    opening: str
    parts: RankParts


@dataclass(frozen=True, slots=True)
class PreparedConversation:
    """A session prepared for storing, with its facts and the version of the rules that found them."""

    session: ChatSession
    facts: SessionFacts
    facts_version: str
    revision: Revision


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A session as it was ingested, and its revision."""

    session: ChatSession
    revision: Revision


def info_of(conversation: Conversation) -> ConversationInfo:
    """Describe a conversation without its messages."""
    return ConversationInfo(
        conversation.session_id,
        conversation.name,
        conversation.user_name,
        conversation.started_at,
        conversation.last_active,
        conversation.messages[0].text,
        conversation.parts,
    )


def conversation_of(session: ChatSession, parts: RankParts) -> Conversation:
    """Build the form of a stored session that search reads."""
    messages = tuple(
        ConversationMessage(
            message_key(message.message_id, place),
            message.message_id,
            message.role,
            message.text,
            session.started_at if message.created_at is None else message.created_at,
        )
        for place, message in enumerate(session.messages)
    )
    last_active = max(message.created_at for message in messages)
    return Conversation(
        session.session_id, session.name, session.user_name, session.started_at, last_active, messages, parts
    )


class Conversations(Protocol):
    """The conversations of all collections. Every call names its collection and sees no other.

    A session and its index entry change in the same transaction. A search that reads the entry before a drop and the
    rows after it misses the session here, and does not return it.
    """

    @property
    def kind(self) -> str: ...

    def changing(self, collection: str, session_id: str) -> AbstractContextManager[None]:
        """Lock a session and its index entry against all other callers, in any process, until the block ends.

        Waits as long as another caller holds the lock. Hold it for every change of a session or of its index entry. A
        store with transactions commits the rows and the entry of a block together, or neither.
        """
        ...

    def generation(self, collection: str) -> int:
        """Return the generation: a number that each change of the collection's sessions or ranks raises.

        It rises in the same transaction as the change, and is 0 if nothing was ever stored. Whatever was cached under a
        generation is right as long as the generation stands.
        """
        ...

    def sessions(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Conversation]:
        """Fetch sessions with their messages and rank parts. Sessions that are not stored are left out."""
        ...

    def describe(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, ConversationInfo]:
        """Describe sessions without their messages. Sessions that are not stored are left out."""
        ...

    def references(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Sequence[Reference]]:
        """List the references to each of the sessions, ordered by source; [] if it has none."""
        ...

    def active_between(self, collection: str, start: datetime | None, end: datetime | None) -> Sequence[str]:
        """List the sessions with a message from ``start`` (inclusive) to ``end`` (exclusive), ordered by id."""
        ...

    def collections(self) -> Sequence[str]:
        """List the collections that hold a session."""
        ...

    def stored(self, collection: str, session_id: str) -> StoredConversation | None:
        """Fetch one session as it was ingested, or None if it is not stored."""
        ...

    def put(self, collection: str, prepared: PreparedConversation, *, replacing: Revision | None) -> None:
        """Store a session in place of its stored revision, and mark its rank for an update.

        Its own parts (base, depth, quality) are right at once. Its reference part changes with the update.

        Raises:
            Unavailable: The stored revision is not ``replacing``.
        """
        ...

    def drop(self, collection: str, session_id: str) -> bool:
        """Drop a session, and mark the ranks of other sessions for an update. Return False if it is not stored."""
        ...
