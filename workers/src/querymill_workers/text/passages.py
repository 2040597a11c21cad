"""Split a long text into passages that fit a model's input."""

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import Final

from querymill_shared.values import value

#: A border is taken only behind this part of what fits, so that a heading does not become a passage of its own.
LEAST_SHARE: Final = 0.5

#: Where a passage may end, the best border first: paragraph, line, sentence, clause, blank.
_BORDERS: Final = (
    re.compile(r"\n[ \t]*\n\s*"),
    re.compile(r"\n\s*"),
    re.compile(r"[。！？]+[”’」』）)\"'】]*|[.!?]+[”’)\"'\]]*\s+"),  # Chinese marks
    re.compile(r"[，；：、]|[,;:]\s+"),  # Chinese marks
    re.compile(r"\s+"),
)


@value
class TextSpan:
    """A part of a text: ``text[start:end]``, in characters."""

    start: int
    end: int


def split_text(text: str, *, max_tokens: int, estimate: Callable[[str], int]) -> list[TextSpan]:
    """Split a text into passages of at most ``max_tokens`` tokens each.

    A passage ends behind a paragraph, else behind a line, a sentence, a clause or a blank, and in a text without any of
    them at the last character that fits. For example, 8 tokens of one letter each in "One two. Three" end behind the
    first sentence.

    Args:
        text: Any text.
        max_tokens: The model's input, or less.
        estimate: Counts the tokens of a text. A longer text must not have fewer.

    Returns:
        The passages in their order. Each begins where the one before it ends, and together they are the whole text. A
        single character of more tokens is a passage. The empty text has none.
    """
    spans: list[TextSpan] = []
    start = 0
    while start < len(text):
        length = _fitting(text, start, max_tokens, estimate)
        end = start + length if start + length >= len(text) else _border(text, start, start + length)
        spans.append(TextSpan(start, end))
        start = end
    return spans


def _fitting(text: str, start: int, max_tokens: int, estimate: Callable[[str], int]) -> int:
    """Return how many characters from ``start`` fit, at least 1. The effort grows with that number only."""
    reach = max(max_tokens, 1)
    while start + reach < len(text) and estimate(text[start : start + reach]) <= max_tokens:
        reach *= 2
    reach = min(reach, len(text) - start)
    lengths = range(1, reach + 1)
    return max(bisect_right(lengths, max_tokens, key=lambda length: estimate(text[start : start + length])), 1)


def _border(text: str, start: int, end: int) -> int:
    """Return the last border of the best sort in the later part of a stretch, or its end if there is none."""
    least = start + int((end - start) * LEAST_SHARE)
    for border in _BORDERS:
        ends = [found.end() for found in border.finditer(text, least, end)]
        if ends:
            return ends[-1]
    return end
