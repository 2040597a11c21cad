"""Letters of fonts that do not say which characters their signs are, or say it falsely: what came out tells."""

import re
from typing import Final

#: Different words that tell what a text is made of, at least, and the share of it that is shaped like words.
LEAST_WORDS: Final = 6
WORDLIKE: Final = 0.8
#: The shares of the vowels, and of the letters that languages in Latin letters have most of. Other letters that stand
#: for them, each always for the same, have half as many.
VOWELS: Final = (0.25, 0.6)
COMMON: Final = 0.5
#: Letters of a font whose text is judged, at least; different signs in it; and the shares of what is neither word nor
#: figure, and of words.
LEAST_LETTERS: Final = 12
LEAST_SIGNS: Final = 6
OF_SIGNS: Final = 0.5
OF_WORDS: Final = 0.2
_PARTS: Final = re.compile(r"[^\W\d_]+|\d+")
_SHAPED: Final = re.compile(r"[A-ZÀ-Þ]?[a-zß-ÿ]+|[A-ZÀ-Þ]+|\d+")
_LATIN: Final = re.compile(r"[A-Za-zÀ-ÿ]{2,}")
#: Words, figures and single signs, with the signs that stand around them.
_PLAIN: Final = re.compile(r"[(\[{\"'$€£]*[\w.,:/%&+-]*[)\]}\"'%:;,.!?]*|\S")
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
#: What falsely named letters become: the signs of ASCII, which are before and between its letters.
SIGNS: Final = frozenset("!\"#$%&'()*+,/:;<=>?@[\\]^_`{|}~")
_SIGN: Final = f"[{re.escape(''.join(sorted(SIGNS)))}]"
_RUN: Final = re.compile(rf"({_SIGN})(?!\1)({_SIGN})(?!\1|\2){_SIGN}")


def reads_as_words(text: str) -> bool:
    """Return whether words and figures stand in a text whose letters were only guessed: then they were guessed right.

    >>> reads_as_words("Load of each layer without the balance of all others"), reads_as_words("Ordg ri hdfk odbhu")
    (True, False)
    """
    parts = _PARTS.findall(text)
    words = {word.casefold() for word in parts if _LATIN.fullmatch(word)}
    letters = "".join(words)
    if len(words) < LEAST_WORDS or sum(map(len, parts)) < WORDLIKE * sum(not each.isspace() for each in text):
        return False
    if sum(_SHAPED.fullmatch(part) is not None for part in parts) < WORDLIKE * len(parts):
        return False
    return VOWELS[0] <= _share("aeiouyàáâäåæèéêëíïóôöøúü", letters) <= VOWELS[1] and (
        _share("etaoinsr", letters) >= COMMON
    )


def is_only_signs(text: str) -> bool:
    """Return whether a text of one font is mostly signs and holds no words: its letters have false names.

    >>> is_only_signs("K?</676/<# L5?><56# M/,56*# N:FF#O6:,/#"), is_only_signs("if (!primes[i]) { continue; }")
    (True, False)
    """
    count = sum(not letter.isspace() for letter in text)
    strange = "".join(part for part in text.split() if not _PLAIN.fullmatch(part))
    if count < LEAST_LETTERS or len(SIGNS.intersection(strange)) < LEAST_SIGNS or len(strange) < OF_SIGNS * count:
        return False
    return sum(map(len, _WORD.findall(text))) < OF_WORDS * count


def has_runs_of_signs(text: str) -> bool:
    """Return whether three signs, each another, follow each other anywhere."""
    return _RUN.search(text) is not None


def _share(letters: str, text: str) -> float:
    return sum(text.count(letter) for letter in letters) / len(text)
