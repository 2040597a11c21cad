"""Messages of a session, and what of them is found: each by itself, and each amid its neighbours."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

VectorType = Literal["message", "context"]

#: Changes whenever passages of the same messages would come out different.
CONTEXT_VERSION: Final = 1
#: Messages on each side that belong to the context of one.
NEIGHBOURS: Final = 2
#: What of a neighbour belongs to a context, in characters: its end before the message, its beginning after it.
NEIGHBOUR_LENGTH: Final = 400


@dataclass(frozen=True, slots=True)
class Message:
    """A message at its place; ``key`` names it within its session."""

    key: str
    message_id: str | None
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class MessagePassage:
    """What is found of a message: its text, or its text amid its neighbours'.

    ``around`` are the ids of the messages whose texts a context holds.
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
    """Which rows of a collection's messages a search may see; None filters nothing.

    ``exclude_message_id`` leaves out the message and the contexts that hold its text; ``lacking`` lets only rows of
    that model through that have no vector yet.
    """

    collection: str
    vector_types: tuple[VectorType, ...]
    session_id: str | None = None
    exclude_message_id: str | None = None
    lacking: str | None = None


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A row that was found; ``raw`` is its cosine with the query, None where it has no vector of that model."""

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
    """A passage as far as its vector and its words need it."""

    vector_id: str
    vector_type: VectorType
    content: str


def vector_id(session_id: str, key: str, vector_type: VectorType) -> str:
    """Name a passage within its collection: the same one always gets the same name."""
    named = f"{len(session_id)}\n{session_id}\n{key}\n{vector_type}"
    return hashlib.sha256(named.encode()).hexdigest()[:32]


def passages_of(session_id: str, messages: Sequence[Message]) -> list[MessagePassage]:
    """List what is found of a session, all messages before all contexts; empty messages are not found."""
    written = [message for message in messages if message.text.strip()]
    alone = [_passage(session_id, message, "message", message.text) for message in written]
    texts = [message.text for message in written]
    amid = [
        _passage(session_id, message, "context", context_of(texts, place), around=_with_neighbours(written, place))
        for place, message in enumerate(written)
    ]
    return alone + amid


def context_of(texts: Sequence[str], place: int) -> str:
    """Join a message with its neighbours, in the order they were written."""
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
