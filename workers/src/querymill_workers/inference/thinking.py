"""Reasoning of a chat model, taken out of a reply that arrives in parts."""

import re
from typing import Final

from querymill_workers.inference.answer_ports import Hear

_TAG: Final = re.compile(r"<(/?)think(?:ing)?>\s*", re.IGNORECASE | re.ASCII)
#: The start of such a tag at the end of a text.
_BEGUN: Final = re.compile(r"<(?:/?(?:t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?)?\Z", re.IGNORECASE | re.ASCII)


class ThinkingFilter:
    """Passes a reply on without what stands between ``<think>`` and ``</think>``. What never closes is reasoning."""

    def __init__(self, hear: Hear) -> None:
        self._hear = hear
        self._held = ""
        self._is_thinking = False

    def hear(self, part: str) -> bool:
        """Pass on what of a part is no reasoning, but hold back its end if that may become a tag."""
        text = self._held + part
        begun = _BEGUN.search(text)
        self._held = text[begun.start() :] if begun else ""
        ready = self._without_thinking(text[: len(text) - len(self._held)])
        return self._hear(ready) if ready else True

    def end(self) -> None:
        """Pass on the text that was held back, after the last part."""
        if self._held and not self._is_thinking:
            self._hear(self._held)

    def _without_thinking(self, text: str) -> str:
        kept: list[str] = []
        position = 0
        for tag in _TAG.finditer(text):
            if not self._is_thinking:
                kept.append(text[position : tag.start()])
            self._is_thinking = not tag[1]
            position = tag.end()
        if not self._is_thinking:
            kept.append(text[position:])
        return "".join(kept)
