"""Citations in an answer: [2] names the second passage; what names none is taken out."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_OPEN, _CLOSE = "\\[【［", "\\]】］"
#: Longest bracket of words that is looked into, in characters: a stream is held back no further.
MAX_BRACKET_CHARS: Final = 60
#: The same of a bracket that has held nothing but numbers, and what may stand between them.
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
# What more text could still make a run of, or a longer one.
_PIECE: Final = re.compile(
    f"(?P<held>\\s+|{_GROUP})|[{_OPEN}]{_INSIDE}[{_CLOSE}]|[^\\s{_OPEN}]+|[{_OPEN}]", re.IGNORECASE
)
_OPENED: Final = re.compile(f"[{_OPEN}](?:{_INSIDE}|{_GROUP_BEGUN})\\Z", re.IGNORECASE)
_BRACKET: Final = re.compile(f"[{_OPEN}{_CLOSE}\\n]")
_CITED: Final = re.compile("(\\d+)(?:[ \\t]*[~–—-][ \\t]*(\\d+))?")
#: A range that names more passages than this is taken for two numbers.
_MAX_RANGE_PASSAGES: Final = 20


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """An answer whose citations all name passages: ``cited`` and ``removed`` in the order they came, each once."""

    text: str
    cited: tuple[int, ...]
    removed: tuple[int, ...]


class CitationCheck:
    """Checks an answer's citations while it is being written; the parts it lets through never hold a wrong one.

    A citation is one or more numbers in square brackets (ASCII, full-width or lenticular), such as [1],
    [1, 3], [2-4], [passage 1, passage 3] or 【段落1】. Those from 1 to ``passages`` are kept, each in brackets of
    its own: [1, 9] of three passages becomes [1]. The others go, with the blanks before them when nothing is
    kept in their place. Blank space at both ends of the answer goes too, and whatever a reader cannot see (control
    and format characters): it could hide a number from this check, or talk to a terminal. However the answer is
    cut into parts, the text is the same.
    """

    def __init__(self, passages: int) -> None:
        self._passages = passages
        self._held = ""
        self._begun = False
        self._inside = False
        self._cited: dict[int, None] = {}
        self._removed: dict[int, None] = {}

    def feed(self, part: str) -> str:
        """Take a part; return what is ready, maybe nothing."""
        text = self._held + "".join(filter(_is_visible, part))
        ready = _ready(text)
        self._held = text[ready:]
        return self._passed(text[:ready])

    def end(self) -> str:
        """Return what was held back, when no more will come."""
        text, self._held = self._held, ""
        return self._passed(text).rstrip()

    @property
    def cited(self) -> tuple[int, ...]:
        """The passages cited so far."""
        return tuple(self._cited)

    @property
    def removed(self) -> tuple[int, ...]:
        """The numbers taken out so far."""
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
        """Let text without citations through, noting whether it leaves a bracket open on its last line."""
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
        # Nothing at all would let what stands around it become a citation: [[9]7].
        return gap + "[]" if was_inside else ""


def checked(answer: str, *, passages: int) -> CheckedAnswer:
    """Check a whole answer; see `CitationCheck`."""
    check = CitationCheck(passages)
    text = check.feed(answer) + check.end()
    return CheckedAnswer(text, check.cited, check.removed)


def _ready(text: str) -> int:
    """Return where the end begins that must wait for more: blanks, citations, a bracket that may yet close."""
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
