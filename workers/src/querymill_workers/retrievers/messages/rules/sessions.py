"""The messages of a session and their passages: each message alone, and each with its neighbours (its context)."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

VectorType = Literal["message", "context"]

#: Must change whenever the same messages would yield other passages.
CONTEXT_VERSION: Final = 1
#: Messages before and after a message that belong to its context.
NEIGHBOURS: Final = 2
#: Characters of a neighbour that belong to a context: its end if it precedes the message, its start if it follows.
NEIGHBOUR_LENGTH: Final = 400


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a session. ``key`` names it within the session."""

    key: str
    message_id: str | None
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class MessagePassage:
    """A searchable text of a message: the message alone, or with its neighbours (a context).

    ``around`` holds the ids of the messages whose texts are in a context.
    """

    vector_id: str
    message_key: str
    message_id: str | None
    vector_type: VectorType
    content: str
    created_at: datetime
    around: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """Which rows of a collection a search may find. A field that is None filters nothing.

    ``exclude_message_id`` leaves out the message and the contexts that hold its text. ``lacking`` names a model and
    keeps only its rows that have no vector yet.
    """

    collection: str
    vector_types: tuple[VectorType, ...]
    session_id: str | None = None
    exclude_message_id: str | None = None
    lacking: str | None = None


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A row that was found. ``raw`` is its cosine to the question, or None if the row has no vector of the model."""

    vector_id: str
    message_key: str
    message_id: str | None
    session_id: str
    content: str
    vector_type: VectorType
    created_at: datetime
    session_name: str | None
    user_name: str | None
    message_role: str | None
    raw: float | None = None


@dataclass(frozen=True, slots=True)
class PendingPassage:
    """A passage with only what embedding and indexing need."""

    vector_id: str
    vector_type: VectorType
    content: str


def vector_id(session_id: str, key: str, vector_type: VectorType) -> str:
    """Return the id of a passage, unique within its collection and the same on every ingestion."""
    named = f"{len(session_id)}\n{session_id}\n{key}\n{vector_type}"
    return hashlib.sha256(named.encode()).hexdigest()[:32]


def passages_of(session_id: str, messages: Sequence[Message]) -> list[MessagePassage]:
    """List the passages of a session, all messages before all contexts. Empty messages have none."""
    written = [message for message in messages if message.text.strip()]
    alone = [_passage(session_id, message, "message", message.text) for message in written]
    texts = [message.text for message in written]
    contexts = [
        _passage(session_id, message, "context", context_of(texts, place), around=_with_neighbours(written, place))
        for place, message in enumerate(written)
    ]
    return alone + contexts


def context_of(texts: Sequence[str], place: int) -> str:
    """Join a message with its neighbours, in the order of the session.

    For example, the context of "d" in a session of the messages "a" to "f" is "b", "c", "d", "e", "f".
    """
    before = [text[-NEIGHBOUR_LENGTH:] for text in texts[max(place - NEIGHBOURS, 0) : place]]
    after = [text[:NEIGHBOUR_LENGTH] for text in texts[place + 1 : place + 1 + NEIGHBOURS]]
    return "\n".join([*before, texts[place], *after])


def _with_neighbours(messages: Sequence[Message], place: int) -> Sequence[Message]:
    return messages[max(place - NEIGHBOURS, 0) : place + 1 + NEIGHBOURS]


def _passage(
    session_id: str, message: Message, vector_type: VectorType, content: str, *, around: Sequence[Message] = ()
) -> MessagePassage:
    named = vector_id(session_id, message.key, vector_type)
    ids = tuple(message.message_id for message in around if message.message_id is not None)
    return MessagePassage(named, message.key, message.message_id, vector_type, content, message.created_at, ids)
