"""The store of conversations: whole sessions, with the stored parts of their ranks."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, Final, Protocol

from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.sessions import ChatSession, message_key
from querymill_shared.values import value
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.conversations.history import Acceptance, FieldWrite, History, LiveMessage
from querymill_workers.retrievers.conversations.rules.rank import RankParts
from querymill_workers.retrievers.conversations.rules.references import Reference
from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts
from querymill_workers.retrievers.conversations.sketch import Sketch
from querymill_workers.versions.ports import Versioned
from querymill_workers.words.ports import Space

#: The name of this retriever in `versions`.
KIND: Final[Retriever] = "conversations"
#: The text index of sessions, which has one entry for each.
SPACE: Final[Space] = "conversations"


@value
class ConversationMessage:
    """A message of a session. ``key`` names it within the session; ``created_at`` defaults to the session's start."""

    key: str
    message_id: str | None
    role: str | None
    text: str
    created_at: datetime
    metadata: Mapping[str, Any] = field(default_factory=dict)


@value
class Conversation:
    """A session with the stored parts of its rank; ``last_active`` is the time of its latest message."""

    session_id: str
    name: str | None
    user_name: str | None
    started_at: datetime
    last_active: datetime
    messages: tuple[ConversationMessage, ...]
    parts: RankParts
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def within(self, start: datetime | None, end: datetime | None) -> Sequence[ConversationMessage]:
        """Return the messages from ``start`` (inclusive) to ``end`` (exclusive). None leaves that side open."""
        return [
            message
            for message in self.messages
            if (start is None or start <= message.created_at) and (end is None or message.created_at < end)
        ]


@value
class ConversationInfo:
    """What is known of a session without its messages, except the text of the first: ``opening``."""

    session_id: str
    name: str | None
    user_name: str | None
    started_at: datetime
    last_active: datetime
    opening: str
    parts: RankParts
    metadata: Mapping[str, Any] = field(default_factory=dict)


@value
class PreparedConversation:
    """A session prepared for storing, with its facts and the version of the rules that found them.

    ``history`` is what its accepted writes left; None if it is a whole session and nothing since. ``sketch`` spares the
    next live message reading the session; None until the first one.
    """

    session: ChatSession
    facts: SessionFacts
    facts_version: str
    revision: Revision
    history: History | None = None
    sketch: Sketch | None = None

    @property
    def kept(self) -> History:
        """Return the history that is stored."""
        return History(self.session) if self.history is None else self.history


@value
class Replacement:
    """A session to store in place of the revision ``replacing``, or as a new one."""

    prepared: PreparedConversation
    replacing: Revision | None


@value
class StoredConversation:
    """A session as its accepted writes left it, its revision, and these writes."""

    session: ChatSession
    revision: Revision
    history: History


@value
class Outline:
    """What it takes to add live messages to a session without reading it.

    ``live`` has the version, the message id and the signs of each live message, in order.
    """

    facts: SessionFacts
    facts_version: str
    revision: Revision
    sketch: Sketch
    said: Mapping[str, FieldWrite]
    live: Sequence[tuple[Acceptance, str | None, int]]
    whole: bool


@value
class Extension:
    """Live messages to add to a session, and what it is with them. ``replacing`` is the revision that it extends."""

    facts: SessionFacts
    messages: Sequence[LiveMessage]
    said: Mapping[str, FieldWrite]
    sketch: Sketch
    revision: Revision
    replacing: Revision


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
        conversation.metadata,
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
            message.model_extra or {},
        )
        for place, message in enumerate(session.messages)
    )
    last_active = max(message.created_at for message in messages)
    return Conversation(
        session.session_id, session.name, session.user_name, session.started_at, last_active, messages, parts,
        session.model_extra or {},
    )  # fmt: skip


class Conversations(Versioned, Protocol):
    """The conversations of all collections. Every call names its collection and sees no other.

    A session and its index entry change in the same transaction. A search that reads the entry before a drop and the
    rows after it misses the session here, and does not return it.
    """

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

    def drop_remains(self, collection: str) -> None:
        """Drop the changes, references, ranks and rebuilds of a collection that holds no session."""
        ...

    def stored(self, collection: str, session_id: str) -> StoredConversation | None:
        """Fetch one session with its history, or None if it is not stored."""
        ...

    def stored_all(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, StoredConversation]:
        """Fetch sessions with their histories. Sessions that are not stored are left out."""
        ...

    def outlines(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Outline]:
        """Fetch the outlines of those sessions that are stored and have one."""
        ...

    def put(self, collection: str, prepared: PreparedConversation, *, replacing: Revision | None) -> None:
        """Store a session in place of its stored revision, and mark its rank for an update.

        Its own parts (base, depth, quality) are right at once. Its reference part changes with the update.

        Raises:
            Unavailable: The stored revision is not ``replacing``.
        """
        ...

    def put_all(self, collection: str, replacements: Sequence[Replacement]) -> None:
        """Store sessions like `put`, in one transaction.

        Raises:
            Unavailable: The stored revision of one is not the one to be replaced.
        """
        ...

    def extend(self, collection: str, extensions: Sequence[Extension]) -> None:
        """Add live messages to stored sessions that have an outline, as if each were put with them.

        Raises:
            Unavailable: The stored revision of one is not the one to be replaced.
        """
        ...

    def drop(self, collection: str, session_id: str) -> bool:
        """Drop a session, and mark the ranks of other sessions for an update. Return False if it is not stored."""
        ...
