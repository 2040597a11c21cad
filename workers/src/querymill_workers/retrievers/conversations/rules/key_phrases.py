"""The key phrases of a session: what it is about, chosen by its own words alone.

A phrase stands for the session if it comes up often in it, and is of a kind that is rare anywhere: an identifier,
a long word, a word of three Chinese characters. How often *other* sessions use it is left out on purpose: it
changes with every session, and an update of one would have to change them all.
"""

import hashlib
import math
import re
from collections import Counter
from functools import lru_cache
from typing import Final

import rjieba

from querymill_workers.text.function_words import CHINESE_FUNCTION_WORDS
from querymill_workers.text.words import words

#: Changes whenever the same session would have other key phrases.
KEY_PHRASES_VERSION: Final = 1
#: Most key phrases of a session; shorter sessions have fewer.
MAX_PHRASES: Final = 30
#: Latin words shorter than this are no phrases.
_MIN_LETTERS: Final = 3
#: From here on longer words are not rarer.
_MAX_LENGTH: Final = 12
_CHINESE: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")


def key_phrases(text: str) -> list[str]:
    """List at most 30 phrases, the most telling first: ``(1 + ln tf) × √length``, then in order of themselves.

    The length counts at most 12 letters, a Chinese character as three of them.
    """
    counts = Counter(_phrases(text))
    ordered = sorted(counts, key=lambda phrase: (-(1 + math.log(counts[phrase])) * math.sqrt(_length(phrase)), phrase))
    return ordered[:MAX_PHRASES]


@lru_cache(maxsize=65_536)
def phrase_number(phrase: str) -> int:
    """Number a phrase, the same everywhere: 63 bits of its SHA-256."""
    return int.from_bytes(hashlib.sha256(phrase.encode()).digest()[:8], "big") >> 1


def _phrases(text: str) -> list[str]:
    latin = [
        word
        for word in words(_CHINESE.sub(" ", text))
        if len(word) >= _MIN_LETTERS and not word.replace(".", "").isdigit()
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
