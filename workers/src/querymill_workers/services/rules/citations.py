"""Citations in an answer: [2] cites the second passage. Citations of passages that do not exist are removed."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from querymill_shared.values import value

_OPEN, _CLOSE = "\\[【［", "\\]】］"
#: The longest bracket that may hold words, in characters. A stream is not held back any further.
MAX_BRACKET_CHARS: Final = 60
#: The same for a bracket that so far holds only numbers and their separators.
MAX_GROUP_CHARS: Final = 1_000
_INSIDE: Final = f"[^{_OPEN}{_CLOSE}\\n]{{0,{MAX_BRACKET_CHARS}}}"
# Digits of any script: [٩] reads as [9] does.
_NUMBER: Final = "\\d+"
_WORD: Final = "(?:passages?|sources?|段落|来源)"
_TO: Final = "[ \\t]*[~～–—-][ \\t]*"
_MARK: Final = "[ \\t,，、;；&]|†(?:sources?)?"
_APART: Final = f"(?:[,，、][ \\t]*(?:…|\\.\\.\\.)|{_MARK}|and|和|及|{_WORD})+"
_GROUP: Final = (
    f"[{_OPEN}](?=[^{_OPEN}{_CLOSE}\\n]{{0,{MAX_GROUP_CHARS}}}[{_CLOSE}])[ \\t]*\\^?(?:{_WORD}[ \\t]*[:：]?[ \\t]*)?"
    f"{_NUMBER}(?:(?:{_TO}|{_APART}){_NUMBER})*(?:{_MARK})*[{_CLOSE}]"
)
# A group that has not closed yet; its last word may not be whole.
_GROUP_BEGUN: Final = f"(?:[\\d \\t^:：,，、;；&†….~～–—-]|and|和|及|{_WORD}){{0,{MAX_GROUP_CHARS}}}[a-z段来]{{0,6}}"
_RUN: Final = re.compile(f"(?<![ \\t])[ \\t]*{_GROUP}(?:[ \\t]*{_GROUP})*", re.IGNORECASE)
# The pieces of a text that more text could still turn into a run of citations, or into a longer one.
_PIECE: Final = re.compile(
    f"(?P<held>\\s+|{_GROUP})|[{_OPEN}]{_INSIDE}[{_CLOSE}]|[^\\s{_OPEN}]+|[{_OPEN}]", re.IGNORECASE
)
_OPENED: Final = re.compile(f"[{_OPEN}](?:{_INSIDE}|{_GROUP_BEGUN})\\Z", re.IGNORECASE)
_BRACKET: Final = re.compile(f"[{_OPEN}{_CLOSE}\\n]")
_CITED: Final = re.compile("(\\d+)(?:[ \\t]*[~–—-][ \\t]*(\\d+))?")
#: A range of more passages than this is read as two numbers.
_MAX_RANGE_PASSAGES: Final = 20


@value
class CheckedAnswer:
    """An answer that cites existing passages only.

    ``cited`` and ``removed`` are numbers in order of appearance, without repeats.
    """

    text: str
    cited: tuple[int, ...]
    removed: tuple[int, ...]


class CitationCheck:
    """Checks the citations of an answer while it is being written, and never lets a wrong one through.

    A citation is one or more numbers in square brackets (ASCII, full-width or lenticular), such as [1],
    [1, 3], [2-4], [passage 1, passage 3] or 【段落1】. Numbers from 1 to ``passages`` are kept, each in its own
    brackets: with three passages, [1, 9] becomes [1]. Other numbers are removed, together with the blanks before them
    if no number of the citation is kept. Blank space at both ends of the answer is removed as well, and so are
    invisible (control and format) characters: they could hide a number from this check, or control a terminal. The
    resulting text does not depend on how the answer is cut into parts.
    """

    def __init__(self, passages: int) -> None:
        self._passages = passages
        self._held = ""
        self._begun = False
        self._inside = False
        self._cited: dict[int, None] = {}
        self._removed: dict[int, None] = {}

    def feed(self, part: str) -> str:
        """Take a part of the answer, and return the text that is ready, which may be empty."""
        text = self._held + "".join(filter(_is_visible, part))
        ready = _ready(text)
        self._held = text[ready:]
        return self._passed(text[:ready])

    def end(self) -> str:
        """Return the text held back so far. Call it after the last part."""
        text, self._held = self._held, ""
        return self._passed(text).rstrip()

    @property
    def cited(self) -> tuple[int, ...]:
        """The numbers of the passages cited so far."""
        return tuple(self._cited)

    @property
    def removed(self) -> tuple[int, ...]:
        """The numbers removed so far."""
        return tuple(self._removed)

    def _passed(self, text: str) -> str:
        passed: list[str] = []
        start = 0
        for run in _RUN.finditer(text):
            passed.append(self._plain(text[start : run.start()]))
            passed.append(self._rewritten(run[0]))
            start = run.end()
        passed.append(self._plain(text[start:]))
        joined = "".join(passed)
        if not self._begun:
            joined = joined.lstrip()
            self._begun = bool(joined)
        return joined

    def _plain(self, text: str) -> str:
        """Return text without citations, and remember whether it leaves a bracket open on its last line."""
        brackets = _BRACKET.findall(text)
        if brackets:
            self._inside = brackets[-1] in "[【［"
        return text

    def _rewritten(self, run: str) -> str:
        numbers = dict.fromkeys(_numbers(run))
        kept = [number for number in numbers if 1 <= number <= self._passages]
        self._cited |= dict.fromkeys(kept)
        self._removed |= dict.fromkeys(number for number in numbers if number not in kept)
        gap = run[: len(run) - len(run.lstrip())]
        was_inside, self._inside = self._inside, False
        if kept:
            return gap + "".join(f"[{number}]" for number in kept)
        # An empty replacement would let the text around it become a citation: [[9]7].
        return gap + "[]" if was_inside else ""


def checked(answer: str, *, passages: int) -> CheckedAnswer:
    """Check a whole answer; see `CitationCheck`."""
    check = CitationCheck(passages)
    text = check.feed(answer) + check.end()
    return CheckedAnswer(text, check.cited, check.removed)


def _ready(text: str) -> int:
    """Return how much of the text is ready. The rest waits: blanks, citations, a bracket that may still close."""
    waits: int | None = None
    for piece in _PIECE.finditer(text):
        if piece["held"] is not None:
            waits = piece.start() if waits is None else waits
        elif _OPENED.match(text, piece.start()):
            return piece.start() if waits is None else waits
        else:
            waits = None
    return len(text) if waits is None else waits


def _is_visible(character: str) -> bool:
    return character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs")


def _numbers(run: str) -> Iterator[int]:
    for first, last in _CITED.findall(unicodedata.normalize("NFKC", run)):
        start, end = int(first), int(last or first)
        if start < end <= start + _MAX_RANGE_PASSAGES:
            yield from range(start, end + 1)
        else:
            yield from (start, end)
