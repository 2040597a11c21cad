"""The key phrases of a session: what it is about, judged by its own words alone.

A phrase is key if it occurs often in the session and belongs to a kind that is rare everywhere: an identifier, a long
word, a word of three Chinese characters. How often *other* sessions use it is left out on purpose: that changes
with every session, so each update would have to change them all.
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import rjieba

from querymill_workers.text.function_words import CHINESE_FUNCTION_WORDS
from querymill_workers.text.words import words

#: Raised whenever the rules give the same session other key phrases.
KEY_PHRASES_VERSION: Final = 2
#: A session has at most this many key phrases.
MAX_PHRASES: Final = 30
#: Latin words with fewer letters are not phrases.
_MIN_LETTERS: Final = 3
#: Words longer than this count as this long: they are no rarer.
_MAX_LENGTH: Final = 12
# Paths, dates and flags: they count by their parts, which are phrases too.
_WITH_MARKS: Final = re.compile("[/@$#+-]")
_CHINESE: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")


def key_phrases(text: str) -> list[str]:
    """List up to 30 phrases by ``(1 + ln tf) × √length``, highest first, ties in alphabetical order.

    The length is at most 12 letters. A Chinese character counts as three letters.
    """
    return most_telling(count_phrases(text))


def count_phrases(text: str) -> Counter[str]:
    """Count the phrases of a text. Those of messages add up to those of their session."""
    return Counter(_phrases(text))


def most_telling(counts: Mapping[str, int]) -> list[str]:
    """List the key phrases by how often each phrase of a session occurs."""
    ordered = sorted(counts, key=lambda phrase: (-(1 + math.log(counts[phrase])) * math.sqrt(_length(phrase)), phrase))
    return ordered[:MAX_PHRASES]


@lru_cache(maxsize=65_536)
def phrase_number(phrase: str) -> int:
    """Return the number of a phrase, the same on every machine: 63 bits of its SHA-256."""
    return int.from_bytes(hashlib.sha256(phrase.encode()).digest()[:8], "big") >> 1


def _phrases(text: str) -> list[str]:
    latin = [
        word
        for word in words(_CHINESE.sub(" ", text))
        if len(word) >= _MIN_LETTERS and not _WITH_MARKS.search(word) and not word.replace(".", "").isdigit()
    ]
    chinese = [
        word
        for run in _CHINESE.finditer(text)
        for word in rjieba.cut(run[0])
        if len(word) > 1 and word not in CHINESE_FUNCTION_WORDS
    ]
    return latin + chinese


def _length(phrase: str) -> int:
    return min(len(phrase) if phrase[0].isascii() else 3 * len(phrase), _MAX_LENGTH)
