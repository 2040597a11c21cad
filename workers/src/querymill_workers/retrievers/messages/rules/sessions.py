"""The messages of a session and their texts: each message alone, and each with its neighbours (its context).

A text that is longer than a passage is embedded in several passages. What is searched by words, and what a hit shows,
is always the whole text.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, Final, Literal

from querymill_shared.values import value
from querymill_workers.text.passages import TextSpan, split_text
from querymill_workers.text.tokens import estimate

VectorType = Literal["message", "context"]

#: How the keys of passages begin.
_KEYS_BEGIN: Final[Mapping[VectorType, str]] = {"message": "a", "context": "b"}
#: Must change whenever the same messages would yield other passages.
CONTEXT_VERSION: Final = 2
#: Tokens of a passage, by `estimate`. Less than the input of every model in use, so that no model cuts it, and passages
#: stay when the model changes.
PASSAGE_TOKENS: Final = 448
#: Messages before and after a message that belong to its context.
NEIGHBOURS: Final = 2
#: Characters of a neighbour that belong to a context: its end if it precedes the message, its start if it follows.
NEIGHBOUR_LENGTH: Final = 400


@value
class SessionMessage:
    """A message of a session. ``key`` names it within the session. ``metadata`` holds that of the session, too."""

    key: str
    message_id: str | None
    text: str
    created_at: datetime
    role: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@value
class MessagePassage:
    """What is embedded of a text: all of it, or one of its passages.

    ``content`` is the passage, and ``start`` its place in the text of the id ``text_id``, which has ``passages`` of
    them, numbered from 0. The first has the id of the text. ``around`` holds the ids of the messages whose texts are in
    a context. ``key`` changes with the content, and orders messages before contexts: in this order they are embedded.
    """

    vector_id: str
    key: str
    message_key: str
    message_id: str | None
    vector_type: VectorType
    content: str
    created_at: datetime
    around: tuple[str, ...] = ()
    text_id: str = ""
    number: int = 0
    start: int = 0
    passages: int = 1
    role: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@value
class MessageText:
    """A text that is searched by its words: a message alone, or with its neighbours."""

    text_id: str
    vector_type: VectorType
    content: str


@value
class MessageFilter:
    """Which rows of a collection a search may find. A field that is None filters nothing.

    ``exclude_message_id`` leaves out the message and the contexts that hold its text, in the session
    ``exclude_session_id`` or, if that is None, in all. ``lacking`` names a model, and only rows without a
    vector of it are kept. ``conditions`` are those of a request's filter.
    """

    collection: str
    vector_types: tuple[VectorType, ...]
    session_id: str | None = None
    exclude_message_id: str | None = None
    exclude_session_id: str | None = None
    lacking: str | None = None
    conditions: Mapping[str, Any] = field(default_factory=dict, hash=False)


@value
class MessageSpan:
    """Where in a long text a passage is, in characters, and which it is of how many, from 0."""

    start: int
    end: int
    number: int
    passages: int


@value
class MessageRow:
    """A text that was found. ``vector_id`` is the id of the text.

    ``raw`` is its cosine to the question, or None if it has no vector of the model. The cosine of a long text is that
    of its nearest passage, ``passage``. ``place`` is that of its message in its session, from 0.
    """

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
    passage: MessageSpan | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    place: int | None = None

    @property
    def message(self) -> tuple[str, str]:
        """Name the message: the same for its own text and for its context."""
        return self.session_id, self.message_key


def vector_id(session_id: str, key: str, vector_type: VectorType, *, number: int = 0) -> str:
    """Return the id of a passage, unique within its collection and the same on every ingestion."""
    named = f"{len(session_id)}\n{session_id}\n{key}\n{vector_type}" + (f"\n{number}" if number else "")
    return hashlib.sha256(named.encode()).hexdigest()[:32]


def passages_of(session_id: str, messages: Sequence[SessionMessage]) -> list[MessagePassage]:
    """List the passages of a session, all messages before all contexts. Empty messages have none."""
    written = [message for message in messages if message.text.strip()]
    texts = [message.text for message in written]
    alone = [_cut(session_id, message, "message", message.text, ()) for message in written]
    contexts = [
        _cut(session_id, message, "context", context_of(texts, place), _ids_around(written, place))
        for place, message in enumerate(written)
    ]
    return [passage for text in alone + contexts for passage in text]


def texts_of(passages: Sequence[MessagePassage]) -> list[MessageText]:
    """Join the passages of each text, which follow one another."""
    joined: dict[str, list[MessagePassage]] = {}
    for passage in passages:
        joined.setdefault(passage.text_id, []).append(passage)
    return [
        MessageText(text_id, parts[0].vector_type, "".join(part.content for part in parts))
        for text_id, parts in joined.items()
    ]


def context_of(texts: Sequence[str], place: int) -> str:
    """Join a message with its neighbours, in the order of the session.

    For example, the context of "d" in a session of the messages "a" to "f" is "b", "c", "d", "e", "f".
    """
    before = [text[-NEIGHBOUR_LENGTH:] for text in texts[max(place - NEIGHBOURS, 0) : place]]
    after = [text[:NEIGHBOUR_LENGTH] for text in texts[place + 1 : place + 1 + NEIGHBOURS]]
    return "\n".join([*before, texts[place], *after])


def _ids_around(messages: Sequence[SessionMessage], place: int) -> tuple[str, ...]:
    near = messages[max(place - NEIGHBOURS, 0) : place + 1 + NEIGHBOURS]
    return tuple(message.message_id for message in near if message.message_id is not None)


def _cut(
    session_id: str, message: SessionMessage, vector_type: VectorType, text: str, around: tuple[str, ...]
) -> list[MessagePassage]:
    spans = split_text(text, max_tokens=PASSAGE_TOKENS, estimate=estimate)
    text_id = vector_id(session_id, message.key, vector_type)

    def passage(number: int, span: TextSpan) -> MessagePassage:
        id_, content = vector_id(session_id, message.key, vector_type, number=number), text[span.start : span.end]
        return MessagePassage(
            vector_id=id_,
            key=_KEYS_BEGIN[vector_type] + hashlib.sha256(f"{id_}\n{content}".encode()).hexdigest()[:31],
            message_key=message.key,
            message_id=message.message_id,
            vector_type=vector_type,
            content=content,
            created_at=message.created_at,
            around=around,
            text_id=text_id,
            number=number,
            start=span.start,
            passages=len(spans),
            role=message.role,
            metadata=message.metadata,
        )

    return [passage(number, span) for number, span in enumerate(spans)]
