"""Fences: how text of strangers stands in a prompt without being taken for a part of it."""

import re
import secrets
from collections.abc import Iterable

from querymill_workers.inference.answer_ports import Hear

#: How chat formats begin their control words (<|im_start|>, </s>, [INST]); some servers read them in any text.
_CONTROL = re.compile(r"[<\[](?=\S)")

_LINE = re.compile(r"\n?<<[0-9a-f]{8} [a-z0-9 ]{1,20}>>")
#: What more text could still make such a line of.
_BEGUN = re.compile(r"\n?<(?:<(?:[0-9a-f]{0,8}|[0-9a-f]{8} [a-z0-9 ]{0,20}>?))?\Z")


def new_fence(texts: Iterable[str]) -> str:
    """Draw a token that none of the texts holds.

    Whoever wrote a text could not know the token, so nothing in it opens or closes a fence.
    """
    held = tuple(texts)
    while True:
        token = secrets.token_hex(4)
        if not any(token in text for text in held):
            return token


def fenced(fence: str, name: str, text: str) -> str:
    """Put a text between the lines of a fence, under a name of ours; control words in it are broken up."""
    broken_up = _CONTROL.sub(r"\g<0> ", text)
    return f"<<{fence} {name}>>\n{broken_up}\n<<{fence} end>>"


class Unfenced:
    """Hears a reply in parts, and hands it on without lines of a fence: small models repeat those of their prompt."""

    def __init__(self, hear: Hear) -> None:
        self._hear = hear
        self._held = ""

    def hear(self, part: str) -> bool:
        """Take a part; hold back what may become a line of a fence. Returns what the listener says."""
        text = _LINE.sub("", self._held + part)
        begun = _BEGUN.search(text)
        ready = text if begun is None else text[: begun.start()]
        self._held = text[len(ready) :]
        return self._hear(ready)

    def end(self) -> None:
        """Hand on what was held back, when no more will come."""
        if self._held:
            self._hear(self._held)
