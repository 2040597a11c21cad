"""English words reduced to their stem, by the rules of M. F. Porter, "An algorithm for suffix stripping" (1980).

Our own, because those rules are frozen and an index lives on them: libraries follow Snowball's later rules, which
have changed between releases, and such a change would mix two kinds of words in one index unnoticed.
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
    """Reduce an English word in lower case to its stem: ``relational`` and ``relate`` give ``relat``.

    Words of fewer than three letters, and of other letters than a to z, are returned as they are.
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
    """Give a verb its ending back: ``conflat`` an e, ``hopp`` one p less, ``fil`` an e."""
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
    """Replace the longest of the suffixes that the word ends with, if the measure of what is before it is enough."""
    for length in range(_MAX_SUFFIX_CHARS, 1, -1):
        replacement = suffixes.get(word[-length:]) if length <= len(word) else None
        if replacement is not None:
            rest = word[:-length]
            return rest + replacement if _measure(rest) > above else word
    return word


def _shape(word: str) -> str:
    """Write c for every consonant and v for every vowel; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """Count how often a vowel is followed by a consonant, nearly the number of syllables."""
    return _shape(word).count("vc")


def _ends_double(word: str) -> bool:
    return word[-2:-1] == word[-1:] and _shape(word).endswith("c")


def _ends_short(word: str) -> bool:
    """Tell whether it ends like ``hop``: consonant, vowel, consonant that is not w, x or y."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"
