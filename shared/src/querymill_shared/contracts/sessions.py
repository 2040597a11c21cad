"""Chat sessions as they are taken in: the unit of conversations, and where messages are from."""

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from querymill_shared.contracts.described import Described
from querymill_shared.contracts.fields import Id, Moment, Name, without_nul

#: Messages of one session: it travels in one request.
MOST_MESSAGES = 5_000
#: In characters.
LONGEST_MESSAGE = 32_000


class ChatMessage(Described):
    """One message of a session; fields we do not know are kept as metadata. An empty one is kept, but not found."""

    message_id: Id | None = None
    role: Name | None = None
    text: Annotated[str, Field(max_length=LONGEST_MESSAGE), AfterValidator(without_nul)]
    created_at: Moment | None = None


class ChatSession(Described):
    """A session, whole; fields we do not know are kept as metadata.

    A message without a time of its own has the session's.
    """

    session_id: Id
    name: Name | None = None
    user_name: Name | None = None
    started_at: Moment
    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1, max_length=MOST_MESSAGES)]

    @model_validator(mode="after")
    def _message_ids_occur_once(self) -> "ChatSession":
        ids = [message.message_id for message in self.messages if message.message_id is not None]
        if len(set(ids)) != len(ids):
            raise ValueError("messages: every message_id must occur once")
        return self


def message_key(message_id: str | None, place: int) -> str:
    """Name a message within its session: by its id, or by its place where it has none."""
    return f"#{place}" if message_id is None else f"={message_id}"
