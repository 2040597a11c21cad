"""Classes of characters, derived from Unicode: which letters make words, and how.

Each is the inside of a character class of a regular expression. They are about text that `folding.fold` has read.
"""

import unicodedata
from collections.abc import Iterable
from typing import Final

#: Characters of Chinese, Japanese, Korean and Yi, with the marks between their letters.
_EAST_ASIAN: Final = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3041-\u30fa\u30fc-\ua4cf\uac00-\ud7ff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
# All other characters that Unicode describes.
_DESCRIBED: Final = (
    *range(0x30, 0x1100), *range(0x1200, 0x2E80), *range(0xA4D0, 0xAC00), *range(0xFB00, 0x20000),
    *range(0xE0000, 0xE0200),
)  # fmt: skip
# Scripts whose lines only those who know the language can break (the property Line_Break=SA).
_WITHOUT_BLANKS: Final = (
    "THAI ", "LAO ", "KHMER ", "MYANMAR ", "TAI LE ", "NEW TAI LUE ", "TAI THAM ", "TAI VIET ", "AHOM ",
)  # fmt: skip
_STACKERS: Final = frozenset({"KHMER SIGN COENG", "MYANMAR SIGN VIRAMA", "TAI THAM SIGN SAKOT"})
_PICTURES: Final = (range(0x2600, 0x27C0), range(0x1F000, 0x1FB00))
_JOINERS: Final = frozenset("\u200c\u200d")
_TAGS: Final = range(0xE0020, 0xE0080)


def _as_class(characters: Iterable[str]) -> str:
    """Write characters as ranges. None of them has a meaning of its own inside a class."""
    ranges: list[tuple[int, int]] = []
    for code in sorted(map(ord, characters)):
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], code)
        else:
            ranges.append((code, code))
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


def _is_picture(character: str, category: str) -> bool:
    return category == "So" and (
        unicodedata.east_asian_width(character) == "W" or any(ord(character) in pictures for pictures in _PICTURES)
    )


def _is_invisible(character: str, category: str) -> bool:
    if category == "Cf":
        return character not in _JOINERS and ord(character) not in _TAGS
    return category == "Mn" and character != "\ufe0f" and "VARIATION SELECTOR" in unicodedata.name(character)


_CATEGORIES: Final = {
    character: category
    for character in map(chr, _DESCRIBED)
    if (category := unicodedata.category(character)) not in ("Cc", "Cn", "Co")
}
_NAMES: Final = {
    character: unicodedata.name(character, "")
    for character, category in _CATEGORIES.items()
    if category in ("Ll", "Lm", "Lo", "Lu", "Mc", "Mn")
}
_WIDE: Final = {
    character
    for character, category in _CATEGORIES.items()
    if category[0] in "LMN" and unicodedata.east_asian_width(character) == "W"
}
_CLUSTERED: Final = {character for character, name in _NAMES.items() if name.startswith(_WITHOUT_BLANKS)}

#: Letters and marks of Thai, Lao, Khmer, Burmese and the scripts of the Tai, which put no blanks between words.
CLUSTERED: Final = _as_class(_CLUSTERED)
#: The marks among them.
CLUSTER_MARKS: Final = _as_class(character for character in _CLUSTERED if _CATEGORIES[character][0] == "M")
#: The marks that tie the next letter to the one before it.
STACKERS: Final = _as_class(character for character in _CLUSTERED if _NAMES[character] in _STACKERS)
#: Characters of Chinese, Japanese, Korean, Yi, Tangut and Nüshu.
EAST_ASIAN: Final = _EAST_ASIAN + _as_class(_WIDE)
_SPACED: Final = {
    character
    for character, category in _CATEGORIES.items()
    if category[0] in "LMN" and category != "Me" and character not in _CLUSTERED and character not in _WIDE
}
#: Letters, marks and digits of all other scripts, from Latin to Cherokee.
SPACED: Final = _as_class(character for character in _SPACED if character <= "\uffff")
#: The same of the scripts beyond the first plane, such as Adlam. No script has letters in both.
SPACED_BEYOND: Final = _as_class(character for character in _SPACED if character > "\uffff")
#: Symbols that are pictures of themselves.
EMOJI: Final = _as_class(character for character, category in _CATEGORIES.items() if _is_picture(character, category))
#: Symbols that become pictures by the selector that follows them.
SYMBOLS: Final = "\u203c\u2049\u3030\u303d" + _as_class(
    character for character, category in _CATEGORIES.items() if category in ("Sm", "So") and character > "\xa8"
)
#: Letters of Arabic, and of the languages that are written with them.
ARABIC: Final = _as_class(
    character for character, name in _NAMES.items() if name.startswith("ARABIC LETTER ") and character.isalpha()
)
#: The points of Arabic and Hebrew: vowels, and signs of recitation.
POINTS: Final = _as_class(
    character
    for character, name in _NAMES.items()
    if _CATEGORIES[character] == "Mn" and name.startswith(("ARABIC ", "HEBREW "))
)
#: Marks of all scripts, which stand after the letter that they belong to.
MARKS: Final = _as_class(character for character, category in _CATEGORIES.items() if category[0] == "M")
#: What is not seen: soft hyphens, blanks without a width, marks of direction. Joiners are not among them.
INVISIBLE: Final = "\u034f" + _as_class(
    character for character, category in _CATEGORIES.items() if _is_invisible(character, category)
)
#: The digits of all scripts but ASCII, with their values.
DIGITS: Final = {
    ord(character): str(unicodedata.decimal(character))
    for character, category in _CATEGORIES.items()
    if category == "Nd" and not character.isascii()
}
