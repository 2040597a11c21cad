"""One spelling for texts that a reader takes for the same, and where its characters stand in the text."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from querymill_workers.text.scripts import ARABIC, DIGITS, EMOJI, INVISIBLE, MARKS, POINTS, SYMBOLS

# Letters that are typed for one another: the forms of alef, yeh and kaf, and of heh with the teh that sounds like it;
# the chillus of Malayalam, which older texts write as two characters; and the separators of Arabic numbers.
_ALIKE: Final = DIGITS | {
    **dict.fromkeys(map(ord, "\u0622\u0623\u0625\u0671\u0672\u0673\u0675"), "\u0627"),
    **dict.fromkeys(map(ord, "\u0649\u06cc\u06cd\u06ce\u06d2\u06d3"), "\u064a"),
    **dict.fromkeys(map(ord, "\u06a9\u06aa"), "\u0643"),
    **dict.fromkeys(map(ord, "\u0629\u06c0\u06c1\u06c2\u06c3"), "\u0647"),
    0x0D7A: "\u0d23\u0d4d", 0x0D7B: "\u0d28\u0d4d", 0x0D7C: "\u0d30\u0d4d", 0x0D7D: "\u0d32\u0d4d",
    0x0D7E: "\u0d33\u0d4d", 0x0D7F: "\u0d15\u0d4d", 0x066B: ".", 0x066C: ",",
}  # fmt: skip
_TATWEEL: Final = "\u0640"
# What folding may change. Beyond the first plane all characters are suspected: to look for some of many takes long.
_FIRST_PLANE: Final = "".join(chr(code) for code in _ALIKE if code <= 0xFFFF)
_SUSPECT: Final = re.compile(f"[{INVISIBLE}{POINTS}{_TATWEEL}\u200c\u200d\ufe0f{_FIRST_PLANE}\U00010000-\U0010ffff]")
_DROPPED: Final = re.compile(f"[{INVISIBLE}{POINTS}{_TATWEEL}]+")
# A joiner within a Persian word stands between its parts, and one within an emoji between its pictures. All others only
# say how letters are drawn, and so does a selector that makes no emoji.
_PICTURES: Final = f"[{EMOJI}{SYMBOLS}]"
_JOINER: Final = re.compile(
    f"(?<![{ARABIC}])\u200c|\u200c(?![{ARABIC}])|(?<!{_PICTURES})\ufe0f"
    f"|(?<![{EMOJI}\U0001f3fb-\U0001f3ff])(?<!{_PICTURES}\ufe0f)\u200d|\u200d(?!{_PICTURES})"
)
# Blanks that do not break, and the apostrophe of printers, between the digits of one number.
_GROUPING: Final = re.compile("[\u00a0\u2007\u2009\u202f\u2019](?<=[0-9].)(?<![0-9]{4}.)(?=[0-9]{3}(?![0-9]))")
# What may change together: a character with what follows it, and all that joiners hold together. Letters of Hangul and
# the marks of half width join the one before them although they are no marks.
_FOLLOWING: Final = f"[{MARKS}{INVISIBLE}\u1160-\u11ff\uff9e\uff9f\uffa0-\uffdc]*"
_ATOM: Final = re.compile(f"(?s:.){_FOLLOWING}(?:[\u200c\u200d]+(?s:.)?{_FOLLOWING})*")
#: Longer atoms are folded each time.
_MAX_KEPT_CHARS: Final = 16
_PIECE: Final = re.compile(r"\s*\S*")


def fold(text: str) -> str:
    """Return a text in one spelling. A text that is folded already is returned unchanged.

    Its characters are normalised (NFKC): full width, ligatures and presentation forms are plain letters. Characters
    that are not seen (soft hyphens, blanks without a width) are left out, and so are the points of Arabic and Hebrew.
    Variants of Arabic letters are one letter, and the digits of all scripts are 0 to 9. Case stays.
    """
    if text.isascii():
        return text
    return _settled(_GROUPING.sub("'", text))


def _settled(text: str) -> str:
    text = unicodedata.normalize("NFKC", text)
    if _SUSPECT.search(text) is None:
        return text
    text = _JOINER.sub("", _DROPPED.sub("", text)).translate(_ALIKE)
    return unicodedata.normalize("NFKC", text)


def folded_atoms(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the pieces of a folded text, each with the start and the end of what it was in the text."""
    plain = _GROUPING.sub("'", text)
    whole = fold(text)
    for pattern in (_ATOM, _PIECE):
        atoms = [(_folded_atom(atom[0]), atom.start(), atom.end()) for atom in pattern.finditer(plain)]
        if "".join(atom for atom, _, _ in atoms) == whole:
            yield from atoms
            return
    yield whole, 0, len(text)


def _folded_atom(atom: str) -> str:
    if atom.isascii():
        return atom
    return _folded_short(atom) if len(atom) <= _MAX_KEPT_CHARS else _settled(atom)


@lru_cache(maxsize=8_192)
def _folded_short(atom: str) -> str:
    return _settled(atom)
