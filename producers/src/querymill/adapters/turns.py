"""The messages of a chat as libraries hold them, as turns of ours."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

#: What libraries call who said something; what others said, such as a system or a tool, is no turn of the chat.
_ROLES: Final = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}


def turns_of(messages: Iterable[Any]) -> list[dict[str, str]]:
    """Return the turns of a chat, the oldest first.

    Args:
        messages: Messages of LangChain, LlamaIndex or Haystack, or mappings with ``role`` and ``text`` or ``content``.
    """
    return [{"role": role, "text": text} for role, text in map(_read, messages) if role and text.strip()]


def _read(message: Any) -> tuple[str, str]:
    values = message if isinstance(message, Mapping) else _Attributes(message)
    role = values.get("role") or values.get("type")
    said = next((given for name in ("content", "text") if isinstance(given := values.get(name), str | list)), "")
    return _ROLES.get(str(getattr(role, "value", role)), ""), "\n".join(_texts(said))


def _texts(said: str | list[Any]) -> Iterator[str]:
    for part in [said] if isinstance(said, str) else said:
        text = part.get("text") if isinstance(part, Mapping) else part
        if isinstance(text, str):
            yield text


class _Attributes:
    """The attributes of a message, by name."""

    def __init__(self, message: Any) -> None:
        self._message = message

    def get(self, name: str) -> Any:
        """Return an attribute, None if there is none."""
        return getattr(self._message, name, None)
