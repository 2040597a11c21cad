"""The passages in which a session is scored: whole neighbouring messages, packed to about 3,200 characters.

A short session is one passage. A single message is never one where others stand beside it: that measured 0.10 worse
on chats. The passages of a session are put together by a soft maximum, so that several good ones count for more than
one, and length alone counts for little.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Final

#: A passage takes in messages up to this length, in characters. A longer message is a passage of its own.
PASSAGE_CHARS: Final = 3_200
#: T of the soft maximum, in units of BM25.
TEMPERATURE: Final = 2.0
#: The same, for explanations.
SOFT_MAXIMUM: Final = "T × ln(1 + Σ (e^(score / T) − 1)) over the passages, T = 2"
#: The passage that is being filled: its number, from 0, and its characters.
Fill = tuple[int, int]
EMPTY: Final[Fill] = (0, 0)


def fill_up(lengths: Iterable[int], fill: Fill = EMPTY) -> list[Fill]:
    """Tell, message by message, which passage it goes to, and how long that is then.

    Worked example: messages of 2,000, 1,000, 500 and 9,000 characters go to the passages 0, 0, 1 and 2.

    Args:
        lengths: The lengths of the messages, in order.
        fill: Where the messages before them have left off.
    """
    found = []
    for length in lengths:
        number, chars = fill
        fits = chars == 0 or chars + length <= PASSAGE_CHARS
        fill = (number, chars + length) if fits else (number + 1, length)
        found.append(fill)
    return found


def packed(texts: Sequence[str]) -> list[list[str]]:
    """Pack messages into passages; there is one at least."""
    passages: list[list[str]] = [[]]
    for text, (number, _) in zip(texts, fill_up(map(len, texts)), strict=True):
        if number == len(passages):
            passages.append([])
        passages[number].append(text)
    return passages


def soft_maximum(scores: Iterable[float]) -> float:
    """Return ``T × ln(1 + Σ (e^(s / T) − 1))`` with T = 2: a single score is itself, and nothing is 0.

    Worked example: 10 and 9 give 2 × ln(e^5 + e^4.5 − 1) = 10.94; 10 and 2 give 2 × ln(e^5 + e − 1) = 10.02.
    """
    known = list(scores)
    if len(known) == 1:
        return known[0]
    return TEMPERATURE * math.log1p(math.fsum(math.expm1(score / TEMPERATURE) for score in known))
