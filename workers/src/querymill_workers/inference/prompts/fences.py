"""Fences: lines around untrusted text in a prompt, so that the model does not take it for instructions."""

import re
import secrets
from collections.abc import Iterable

from querymill_workers.inference.answer_ports import Hear

#: The start of chat control words (<|im_start|>, </s>, [INST]). Some servers interpret them in any text.
_CONTROL = re.compile(r"[<\[](?=\S)")

_LINE = re.compile(r"\n?<<[0-9a-f]{8} [a-z0-9 ]{1,20}>>")
#: The start of such a line at the end of a text.
_BEGUN = re.compile(r"\n?<(?:<(?:[0-9a-f]{0,8}|[0-9a-f]{8} [a-z0-9 ]{0,20}>?))?\Z")


def new_fence(texts: Iterable[str]) -> str:
    """Return a random token that occurs in none of the texts.

    The author of a text cannot know the token, so nothing in the text can open or close a fence.
    """
    known = tuple(texts)
    while True:
        token = secrets.token_hex(4)
        if not any(token in text for text in known):
            return token


def fenced(fence: str, name: str, text: str) -> str:
    """Return a text between the two lines of a fence, with its control words broken up."""
    broken_up = _CONTROL.sub(r"\g<0> ", text)
    return f"<<{fence} {name}>>\n{broken_up}\n<<{fence} end>>"


class FenceFilter:
    """Filters the lines of fences out of a reply in parts, because small models repeat those of their prompt."""

    def __init__(self, hear: Hear) -> None:
        self._hear = hear
        self._held = ""

    def hear(self, part: str) -> bool:
        """Pass a part on, but hold back its end if that may become a line of a fence. Return the listener's reply."""
        text = _LINE.sub("", self._held + part)
        begun = _BEGUN.search(text)
        ready = text if begun is None else text[: begun.start()]
        self._held = text[len(ready) :]
        return self._hear(ready)

    def end(self) -> None:
        """Pass on the text that was held back, after the last part."""
        if self._held:
            self._hear(self._held)
