"""Chat sessions as they are ingested, by `messages` and by `conversations`."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from querymill_shared.contracts.described import Described
from querymill_shared.contracts.fields import Id, Moment, Name, without_nul

#: The most messages of one session, as a request holds the whole session.
MAX_MESSAGES = 5_000
#: The longest text of a message, in characters.
MAX_MESSAGE_CHARS = 1_000_000
#: The texts of one session together, in bytes of UTF-8: a session is stored in one transaction.
MAX_SESSION_BYTES = 16_000_000


class ChatMessage(Described):
    """A message of a session. Unknown fields are stored as metadata. An empty message is stored but cannot be found.

    Attributes:
        message_id: your own id of the message, unique in its session; null: its place in the session names it
        role: who speaks, such as "user" or "assistant"; null: unknown
        text: what the message says
        created_at: when the message was written; without a zone, in UTC; null: the session's `started_at`
    """

    message_id: Id | None = None
    role: Name | None = None
    text: Annotated[str, Field(max_length=MAX_MESSAGE_CHARS), AfterValidator(without_nul)]
    created_at: Moment | None = None


class ChatSession(Described):
    """A whole session. Unknown fields are stored as metadata.

    Attributes:
        session_id: your own id of the session, under which it is stored; the same id replaces it
        name: name of the session, which hits show; null: none
        user_name: name of the user whose session it is; null: unknown
        started_at: when the session began; without a zone, in UTC
        messages: all messages, oldest first; no `message_id` may occur twice
    """

    session_id: Id
    name: Name | None = None
    user_name: Name | None = None
    started_at: Moment
    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1, max_length=MAX_MESSAGES)]

    @property
    def document_id(self) -> str:
        """The session's id."""
        return self.session_id

    @property
    def chars(self) -> int:
        """The length of its texts."""
        return sum(len(message.text) for message in self.messages)

    @model_validator(mode="after")
    def _message_ids_occur_once(self) -> "ChatSession":
        ids = [message.message_id for message in self.messages if message.message_id is not None]
        if len(set(ids)) != len(ids):
            raise ValueError("messages: every message_id must occur once")
        return self

    @model_validator(mode="after")
    def _texts_fit_one_transaction(self) -> "ChatSession":
        size = sum(len(message.text.encode("utf-8", "surrogatepass")) for message in self.messages)
        if size > MAX_SESSION_BYTES:
            raise ValueError(f"messages: the texts of a session must have at most {MAX_SESSION_BYTES:,} bytes together")
        return self


def place_in_file(metadata: Mapping[str, Any]) -> tuple[str | None, int | None]:
    """Return the file that a message was read from and its line there, from 1, as histories note them in metadata."""
    source, line = metadata.get("source"), metadata.get("line")
    is_line = isinstance(line, int) and not isinstance(line, bool)
    return (source if isinstance(source, str) else None), (line if is_line and isinstance(source, str) else None)


def message_key(message_id: str | None, place: int) -> str:
    """Return a message's key within its session, made of its id, or of its place if it has no id."""
    return f"#{place}" if message_id is None else f"={message_id}"
