"""Reduce English words to stems by the rules of M. F. Porter, "An algorithm for suffix stripping" (1980).

This is an implementation of our own because Porter's rules are frozen. Libraries follow Snowball's later rules, which
have changed between releases. Such a change would mix stems of two kinds in one index without notice. The `porter` of
PyStemmer 3.1 shortens fewer double consonants: it leaves *trekk* and *grokk* of "trekked" and "grokked", and no trek
finds them. Besides, threads must not share one of its stemmers.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

_WORD: Final = re.compile("[a-z]{3,}")
_MAX_SUFFIX_CHARS: Final = 7

_SHORTENED: Final[Mapping[str, str]] = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "abli": "able", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_SHORTENED_AGAIN: Final[Mapping[str, str]] = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
_DROPPED: Final[Mapping[str, str]] = dict.fromkeys(
    re.findall("[a-z]+", "al ance ence er ic able ible ant ement ment ent ou ism ate iti ous ive ize"), ""
)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Reduce a lower-case English word to its stem: ``relational`` and ``relate`` give ``relat``.

    Words of fewer than three letters, or with other letters than a to z, are returned unchanged.
    """
    if _WORD.fullmatch(word) is None:
        return word
    word = _without_past(_without_plural(word))
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = f"{word[:-1]}i"
    word = _replaced(word, _SHORTENED, above=0)
    word = _replaced(word, _SHORTENED_AGAIN, above=0)
    return _tidied(_without_last_suffix(word))


def _without_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        rest = word.removesuffix(suffix)
        if rest != word:
            return _restored(rest) if "v" in _shape(rest) else word
    return word


def _restored(rest: str) -> str:
    """Restore the ending of a verb: ``conflat`` gives ``conflate``, ``hopp`` ``hop``, and ``fil`` ``file``."""
    if rest.endswith(("at", "bl", "iz")):
        return f"{rest}e"
    if _ends_double(rest) and rest[-1] not in "lsz":
        return rest[:-1]
    return f"{rest}e" if _measure(rest) == 1 and _ends_short(rest) else rest


def _without_last_suffix(word: str) -> str:
    if word.endswith(("sion", "tion")):
        return word[:-3] if _measure(word[:-3]) > 1 else word
    return _replaced(word, _DROPPED, above=1)


def _tidied(word: str) -> str:
    rest = word.removesuffix("e")
    if rest != word and (_measure(rest) > 1 or (_measure(rest) == 1 and not _ends_short(rest))):
        word = rest
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _replaced(word: str, suffixes: Mapping[str, str], *, above: int) -> str:
    """Replace the longest matching suffix, if the measure of the rest is greater than ``above``."""
    for length in range(_MAX_SUFFIX_CHARS, 1, -1):
        replacement = suffixes.get(word[-length:]) if length <= len(word) else None
        if replacement is not None:
            rest = word[:-length]
            return rest + replacement if _measure(rest) > above else word
    return word


def _shape(word: str) -> str:
    """Return c for each consonant and v for each vowel. After a consonant, y is a vowel."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """Count how often a consonant follows a vowel. This is about the number of syllables."""
    return _shape(word).count("vc")


def _ends_double(word: str) -> bool:
    return word[-2:-1] == word[-1:] and _shape(word).endswith("c")


def _ends_short(word: str) -> bool:
    """Return whether a word ends like ``hop``: consonant, vowel, then a consonant other than w, x and y."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"
