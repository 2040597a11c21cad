"""Sentences of a text in Chinese or English."""

import re
from typing import Final

_CLOSERS: Final = "(?:[”’」』）)\"'】]|[ \\t]*\\[[0-9]+\\])*"
# A full stop ends a sentence only before a blank, a Chinese character or the end: 3.5 and vtk.js are no ends.
_END: Final = re.compile(
    f"[。！？]+{_CLOSERS}|(?<![.!?])[.!?]++(?={_CLOSERS}(?:\\s|[\u4e00-\u9fff]|$)){_CLOSERS}",
)
_ABBREVIATED: Final = re.compile(
    "(?:^|[ \\t(])(?:[A-Z]|(?:[A-Za-z]\\.)+[A-Za-z]|Mr|Mrs|Ms|Dr|Prof|St|Inc|Ltd|Corp?|No|vs|approx|ca|cf|Fig|Vol|pp?)"
    "\\.$"
)
_NUMBERED: Final = re.compile("\\s*(?:[0-9]{1,3}|[a-z])\\.$")


def sentences(text: str) -> list[str]:
    """Split a text into sentences. The end of a line ends a sentence, and a citation belongs to the sentence before it.

    "Margins rose. [1] Costs fell [2]." gives "Margins rose. [1]" and "Costs fell [2].". Pieces without a letter or a
    digit (rules of a table, bullets) are dropped.
    """
    return [sentence for line in text.splitlines() for sentence in _of_line(line) if any(map(str.isalnum, sentence))]


def _of_line(line: str) -> list[str]:
    pieces: list[str] = []
    start = 0
    for end in _END.finditer(line):
        if not _is_abbreviation(line, start, end.end()):
            pieces.append(line[start : end.end()].strip())
            start = end.end()
    return [*pieces, line[start:].strip()]


def _is_abbreviation(line: str, start: int, end: int) -> bool:
    """Return whether a piece of a line ends with an abbreviation or is a number. Looks at a few characters only."""
    last, first = line[max(start, end - 20) : end], line[start : min(end, start + 8)]
    return _ABBREVIATED.search(last) is not None or _NUMBERED.fullmatch(first) is not None
