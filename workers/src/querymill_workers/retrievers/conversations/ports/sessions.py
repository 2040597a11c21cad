"""What the flows need of the store of conversations: sessions whole, and how important each is."""

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

#: The words of sessions, a unit each.
SPACE: Final[Space] = "conversations"


@dataclass(frozen=True, slots=True)
class ConversationMessage:
    """A message at its place; ``key`` names it within its session, ``created_at`` is the session's if it has none."""

    key: str
    message_id: str | None
    role: str | None
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session, and the parts of its rank that are stored; ``last_active`` is the time of its last message."""

    session_id: str
    name: str | None
    user_name: str | None
    started_at: datetime
    last_active: datetime
    messages: tuple[ConversationMessage, ...]
    parts: RankParts


@dataclass(frozen=True, slots=True)
class ConversationInfo:
    """A session without its messages but for the text of the first, ``opening``."""

    session_id: str
    name: str | None
    user_name: str | None
    started_at: datetime
    last_active: datetime
    opening: str
    parts: RankParts


@dataclass(frozen=True, slots=True)
class PreparedConversation:
    """A session as it is to be stored, with what ranking knows of it, and by which rules."""

    session: ChatSession
    facts: SessionFacts
    facts_version: str
    revision: Revision


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A session as it was taken in, and its revision."""

    session: ChatSession
    revision: Revision


def info_of(conversation: Conversation) -> ConversationInfo:
    """Leave the messages out."""
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
    """Lay a stored session out as search reads it."""
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
    """The conversations of all collections; every call names its collection, and sees no other.

    A session's words change in the same transaction. A search that reads its words before a drop and its rows after
    it finds a session that is missing here, which is then no hit.
    """

    @property
    def kind(self) -> str: ...

    def changing(self, collection: str, session_id: str) -> AbstractContextManager[None]:
        """Hold a session, so that no other caller in any process changes it or its words until the block ends.

        Waits for as long as another caller holds it. Every change of a session or of its words belongs in such a
        block. A store with transactions commits the rows and words of a block together, or none of them.
        """
        ...

    def generation(self, collection: str) -> int:
        """Return a number that every change of the collection's sessions or ranks increases, in the same transaction.

        0 where nothing was ever stored. What was read before and kept under this number is right while it stands.
        """
        ...

    def sessions(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Conversation]:
        """Fetch sessions with their messages and rank parts; one that is not there is left out."""
        ...

    def describe(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, ConversationInfo]:
        """Fetch what tells sessions from each other without reading them; one that is not there is left out."""
        ...

    def references(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Sequence[Reference]]:
        """List, for each of the sessions, the references to it, ordered by source; [] where there are none."""
        ...

    def active_between(self, collection: str, start: datetime | None, end: datetime | None) -> Sequence[str]:
        """List the sessions with a message from ``start`` (inclusive) until ``end`` (exclusive), in order of ids."""
        ...

    def collections(self) -> Sequence[str]:
        """List the collections that hold a session."""
        ...

    def stored(self, collection: str, session_id: str) -> StoredConversation | None:
        """Fetch one session as it was taken in."""
        ...

    def put(self, collection: str, prepared: PreparedConversation, *, replacing: Revision | None) -> None:
        """Store a session in place of what was there, and note that its rank is to be updated.

        Its own parts (base, depth, quality) are right at once; references await the update.

        Raises:
            Unavailable: What was there is not the revision it was to replace any more.
        """
        ...

    def drop(self, collection: str, session_id: str) -> bool:
        """Take a session away, and note that the ranks of others are to be updated; False when it is not there."""
        ...
