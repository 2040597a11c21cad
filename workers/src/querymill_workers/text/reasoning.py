"""Tell a chat model's reasoning from its answer, where a server leaves both in one text.

Models mark their reasoning in different ways. Most write tags around it. Models of the Harmony format send each
message with a header that names its channel, and only the channel ``final`` is the answer.
"""

import re
from typing import Final, Literal

_NAMES: Final = ("think", "thinking", "thought", "reasoning", "seed:think")
_OPENING: Final = (
    *(f"<{name}>" for name in _NAMES),
    "[think]", "◁think▷", "<|start_thinking|>", "<|begin_of_thought|>", "<|channel>thought",
)  # fmt: skip
_CLOSING: Final = (
    *(f"</{name}>" for name in _NAMES),
    "[/think]", "◁/think▷", "<|end_thinking|>", "<|end_of_thought|>", "<channel|>",
)  # fmt: skip
#: A message of the Harmony format has a header, which one of these begins and the other ends.
_HEADER: Final = ("<|channel|>", "<|start|>")
_BODY: Final = "<|message|>"
#: Marks that stand around an answer, and are no part of it.
_AROUND: Final = (
    "<|end|>", "<|return|>", "<|call|>", "<|start_response|>", "<|end_response|>",
    "<|begin_of_solution|>", "<|end_of_solution|>",
)  # fmt: skip
_MARKS: Final = (*_OPENING, *_CLOSING, *_HEADER, _BODY, *_AROUND)
_MARK: Final = re.compile("|".join(map(re.escape, sorted(_MARKS, key=len, reverse=True))), re.IGNORECASE)
#: What is left of a Harmony reply if a server drops its marks but keeps its headers.
_BARE: Final = "analysis"
_BARE_END: Final = "assistantfinal"
_CHANNEL: Final = re.compile(r"\w*")

_State = Literal["answer", "reasoning", "header", "bare"]


class ReasoningFilter:
    """Passes on the answer of a reply that arrives in parts. Reasoning that never ends leaves no answer."""

    def __init__(self) -> None:
        self._held = ""
        self._state: _State = "answer"
        self._header = ""
        self._is_first = True
        self._follows_mark = False

    def read(self, part: str) -> str:
        """Return what of a part is the answer, but hold back its end if that may become a mark."""
        text = self._held + part
        self._held = ""
        if self._is_first and not self._begin(text):
            self._held = text
            return ""
        held = _begun(text, (_BARE_END,) if self._state == "bare" else _MARKS)
        self._held = text[len(text) - held :]
        return self._read(text[: len(text) - held])

    def end(self) -> str:
        """Return the text that was held back, after the last part."""
        held, self._held = self._held, ""
        return self._keep(held)

    def _begin(self, text: str) -> bool:
        """Find out how the reply begins. Return whether enough of it has come."""
        start = text.lstrip()
        if len(start) <= len(_BARE) and _BARE.startswith(start):
            return False
        self._is_first = False
        if start.startswith(_BARE) and start[len(_BARE)].isupper():
            self._state = "bare"
        return True

    def _read(self, text: str) -> str:
        if self._state == "bare":
            _, end, text = text.partition(_BARE_END)
            self._state = "answer" if end else "bare"
        kept: list[str] = []
        position = 0
        for mark in _MARK.finditer(text):
            kept.append(self._keep(text[position : mark.start()]))
            position = mark.end()
            self._enter(mark.group().lower())
        return "".join([*kept, self._keep(text[position:])])

    def _keep(self, text: str) -> str:
        if self._state == "header":
            self._header += text
        if self._state != "answer":
            return ""
        if self._follows_mark:
            text = text.lstrip()
            self._follows_mark = not text
        return text

    def _enter(self, mark: str) -> None:
        self._follows_mark = True
        if mark in _HEADER:
            self._state, self._header = "header", ""
        elif mark == _BODY and self._state == "header":
            channel = _CHANNEL.match(self._header.strip().lower())
            self._state = "reasoning" if channel and channel.group() in ("analysis", "commentary") else "answer"
        elif mark in _OPENING:
            self._state = "reasoning"
        elif mark in (*_CLOSING, *_AROUND):
            self._state = "answer"


def without_reasoning(reply: str) -> str:
    """Return the answer of a whole reply. What stands before a closing mark that nothing opened is reasoning, too."""
    marks = (mark for mark in _MARK.finditer(reply) if mark.group().lower() in (*_OPENING, *_CLOSING))
    first = next(marks, None)
    if first is not None and first.group().lower() in _CLOSING:
        reply = reply[first.end() :].lstrip()
    answer = ReasoningFilter()
    return answer.read(reply) + answer.end()


def _begun(text: str, marks: tuple[str, ...]) -> int:
    """Return how many characters at the end of a text may be the start of a mark."""
    longest = max(map(len, marks)) - 1
    end = text[-longest:].lower()
    for start in range(len(end)):
        if any(mark.startswith(end[start:]) and mark != end[start:] for mark in marks):
            return len(end) - start
    return 0
