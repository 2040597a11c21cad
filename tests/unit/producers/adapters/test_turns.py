"""The messages of LangChain, LlamaIndex and Haystack as turns of a chat."""

from enum import Enum
from types import SimpleNamespace

from querymill.adapters.turns import turns_of


class Role(Enum):
    """A role as an enumeration has it."""

    USER = "user"
    TOOL = "tool"


def test_messages_of_every_library_are_read_and_what_others_said_is_left_out() -> None:
    messages = [
        {"role": "user", "text": "which ships?"},
        {"role": "assistant", "content": "nine"},
        SimpleNamespace(type="system", content="be short"),
        SimpleNamespace(type="human", content=[{"type": "text", "text": "how"}, "old?", {"type": "image_url"}]),
        SimpleNamespace(type="ai", content=""),
        SimpleNamespace(role=Role.TOOL, text="{}"),
        SimpleNamespace(role=Role.USER, text="and in 2021?"),
    ]
    assert turns_of(messages) == [
        {"role": "user", "text": "which ships?"},
        {"role": "assistant", "text": "nine"},
        {"role": "user", "text": "how\nold?"},
        {"role": "user", "text": "and in 2021?"},
    ]
