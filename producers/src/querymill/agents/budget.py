"""How many tokens a text has at most, and what of it fits a budget.

Hosts count with vocabularies that we do not have. The bound is meant to lie above what common ones count (o200k,
cl100k), so that a reply keeps to its budget with each. It is about half as much again for English prose.
"""

import re
from functools import lru_cache
from math import ceil
from typing import Final

#: Pieces of one cost: letters beside a digit, a word, a number, blanks, a mark, any other character.
_PIECE: Final = re.compile(
    r"(?P<mixed>(?<=[0-9])[A-Za-z]+|[A-Za-z]+(?=[0-9]))|[A-Za-z]+| ?[0-9]+|\s+|[!-~]|.", re.DOTALL
)
_PLAIN_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_ODD: Final = re.compile(r"[^aeiouy]{5}|[aeiouy]{4}|^[^aeiouy]{3,}$|^[a-f]{6,}$", re.IGNORECASE)
#: Tokens of a word that reads like one, of another, such as a part of a hash, and of a mark.
_PER_WORD, _PER_LETTER, _PER_ODD_LETTER, _PER_MARK = 0.5, 0.2, 0.85, 1.0
#: A short text may consist of one name that is costlier than words are. In a long one they even out.
_MARGIN: Final = 2.0
#: Digits that one token can hold.
_DIGITS: Final = 3
#: Tokens of a character of an alphabet, of a frequent Chinese, Japanese or Korean one, and of a rare one.
_ALPHABETIC, _FREQUENT, _RARE = 0.9, 1.5, 2.5
#: Where frequent characters end in the character set of 1980: its second half is in the order of strokes.
_FREQUENT_UNTIL: Final = b"\xd8"
_CUT: Final = " […]"


def bound(text: str) -> int:
    """Return how many tokens a text has at most."""
    return ceil(_MARGIN + sum(map(_cost, _PIECE.finditer(text)))) if text else 0


def fits(text: str, *, max_tokens: int) -> str:
    """Return a text, or as much of its beginning as has at most so many tokens, with a mark that it was cut."""
    end = end_within(text, max_tokens=max_tokens)
    if end == len(text):
        return text
    end = end_within(text, max_tokens=max_tokens - bound(_CUT))
    return text[:end].rstrip() + _CUT if end else ""


def end_within(text: str, *, max_tokens: int) -> int:
    """Return the length of the longest beginning, cut between words, that has at most so many tokens."""
    spent = _MARGIN
    for piece in _PIECE.finditer(text):
        spent += _cost(piece)
        if spent > max_tokens:
            return piece.start()
    return len(text)


def _cost(found: re.Match[str]) -> float:
    piece = found[0]
    if found["mixed"]:
        return _of_odd(piece)
    first = piece[-1]
    if piece.isspace():
        return _of_blanks(piece)
    if not first.isascii():
        return _of_character(first)
    if first.isdigit():
        digits = piece.lstrip(" ")
        return ceil(len(digits) / _DIGITS) + len(piece) - len(digits)
    return _of_word(piece) if first.isalpha() else _PER_MARK


def _of_word(word: str) -> float:
    if _PLAIN_WORD.fullmatch(word) is None or _ODD.search(word) is not None:
        return _of_odd(word)
    return max(1.0, _PER_WORD + _PER_LETTER * len(word))


def _of_odd(letters: str) -> float:
    """Return the cost of letters that are no word, such as a part of a hash."""
    return _PER_WORD + _PER_ODD_LETTER * len(letters)


def _of_blanks(blanks: str) -> float:
    if blanks == " ":
        return 0.0  # it is part of the word after it
    return len(blanks.encode("utf-8", "replace")) if not blanks.isascii() else 1 + blanks.count("\n") + len(blanks) / 8


@lru_cache(maxsize=20_000)
def _of_character(character: str) -> float:
    size = len(character.encode("utf-8", "replace"))
    if size < 3:
        return _ALPHABETIC if character.isalpha() else size
    if size == 3 and character.isalpha():
        is_frequent = character.encode("gb2312", "replace") < _FREQUENT_UNTIL and _is_in(character, "gb2312")
        return _FREQUENT if is_frequent or _is_in(character, "euc_kr") else _RARE
    return size


def _is_in(character: str, character_set: str) -> bool:
    try:
        character.encode(character_set)
    except UnicodeEncodeError:
        return False
    return True
