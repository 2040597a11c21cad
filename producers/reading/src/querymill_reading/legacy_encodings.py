"""The encoding of a text that names none, told by its letters: or no encoding, where two would do.

`chardetng` (the detector of Firefox, with models of letter pairs) proposes. It always answers, so its answer is
checked here: a proposal counts if the text reads as words, and if no other reading is as good.
"""

import codecs
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from chardetng_py import EncodingDetector

#: Where a text might come from: the detector leans to the languages of a country. No country: it leans to none.
_LATIN_COUNTRIES: Final = (None, b"fr", b"pl", b"cz", b"tr", b"ee")
#: Encodings of East Asia, each with the standard that orders its letters, and where its usual ones begin and end.
_EAST_ASIA: Final = {
    "cp932": ("euc_jp", 0xB0, 0xCF), "euc_jp": ("euc_jp", 0xB0, 0xCF), "gb18030": ("gb2312", 0xB0, 0xD7),
    "big5hkscs": ("big5", 0xA4, 0xC6), "cp949": ("euc_kr", 0xB0, 0xC8),
}  # fmt: skip
#: The share of unusual letters that a text may have, and what makes another reading of it no rival.
MAX_UNUSUAL_SHARE, MAX_RIVAL_UNUSUAL_SHARE = 0.2, 0.1
#: Encodings that the detector of a browser does not know: those of DOS and of the Macintosh.
_OF_OLD_MACHINES: Final = ("cp850", "cp437", "cp852", "mac_roman")
#: The web's names that Python gives to fewer characters, and those that it does not know.
_WIDER: Final = {
    "shift_jis": "cp932", "gbk": "gb18030", "gb2312": "gb18030", "big5": "big5hkscs", "euc_kr": "cp949",
    "euc-kr": "cp949", "iso8859-8-i": "cp1255", "iso-8859-8-i": "cp1255", "windows-874": "cp874", "tis-620": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
}  # fmt: skip
#: Codecs of Python that read texts, but none that an editor saves.
_NO_TEXTS: Final = frozenset(("utf-7", "unicode_escape", "raw_unicode_escape", "idna", "punycode", "undefined"))
#: Letters beside a to z, by language: the usual ones, and after a space those that few words have.
_ALPHABETS: Final = tuple(
    (frozenset(usual), frozenset(usual + rare))
    for usual, _, rare in (
        written.partition(" ")
        for written in (
            "äöüß", "àâçéèêîôù ëïœæûü", "áéíñóúü ªº", "áâãàçéêíóôõú üªº", "àèéìòù íîóú", "åäöé", "åæøé èêóòô",
            "ëéï óöüèê", "áæðéíóöþúý", "ąćęłńóśżź", "áčěéířšžýů ďňóťú", "áäčéíľóšťžúý ďĺňôŕ", "áéíóöőúüű",
            "ăâîșțşţ", "čćđšž", "çğıöşü âîûİ", "ąčęėįšųūž", "āčēģīķļņšūž", "äõöü šž", "àçèéíòóú ïü·",
        )
    )
)  # fmt: skip
#: Fewer letters are not enough if another reading is of East Asia, too: what is two letters there is one ideograph.
LEAST_LETTERS: Final = 10
#: So few are never enough.
LEAST_LETTERS_ALONE: Final = 5
#: Ideographs are those of several languages, Hangul and kana of one.
LEAST_IDEOGRAPHS, LEAST_HANGUL, LEAST_KANA = 8, 5, 2
#: Marks that a person types in any language.
_USUAL: Final = frozenset("§©®°±²³µ·¼½¾¿¡«»–—‘’‚“”„†•…‰‹›€™×÷№−→←≤≥≠¢£¥¤\u00a0\u00ad\u200e\u200f\u200c\u200d")
_RUN: Final = re.compile(r"[^\W\d_]+")
#: Symbols between two letters, without apostrophes and what joins letters.
_SYMBOL_IN_WORD: Final = re.compile(
    r"[^\W\d_][\x80-\xa9\xab\xac\xae-\xb1\xb3\xb4\xb6\xb8\xbb-\xbf×÷\u2012-\u2018\u201a-\u2bff]+[^\W\d_]"
)
#: What DOS and the Macintosh wrote no small letters with, except for a sharp s.
_HIGH: Final = re.compile(rb"[\xc0-\xe0\xe2-\xff]")
_IDEOGRAPH: Final = re.compile("[\u3400-\u9fff]")
_KANA: Final = re.compile("[\u3041-\u3096\u30a1-\u30fc]")
_HANGUL: Final = re.compile("[\uac00-\ud7a3]")
#: With so many letters in UTF-8, and more than there are bad bytes, a text is UTF-8 that was damaged.
LEAST_IN_UTF8: Final = 3
#: Seven bits for Japanese: escapes lead to its letters, so that the bytes are ASCII.
_ESCAPED: Final = re.compile(rb"\x1b\$[@B].*?\x1b\([BJ]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reading:
    """A text, and the encoding (as Python names it) that gives it."""

    text: str
    encoding: str


def reading_as(raw: bytes, encoding: str) -> Reading | None:
    """Read bytes by an encoding, or by the wider one that goes by its name; None if they are not of it."""
    written = encoding.lower().removeprefix("x-")
    try:
        known = codecs.lookup(_WIDER.get(written, written)).name
        name = _WIDER.get(known, known)
        return None if name in _NO_TEXTS else Reading(raw.decode(name), name)
    except (UnicodeError, LookupError):
        return None


def escaped_in(raw: bytes) -> Reading | None:
    """Return the reading of a text in seven bits whose escapes lead to Japanese letters; None if it has none."""
    return reading_as(raw, "iso2022_jp") if _ESCAPED.search(raw) else None


def replaced_in(raw: bytes) -> tuple[str, int, bool]:
    """Return bytes as UTF-8 with bad ones replaced, how many these are, and whether the text was UTF-8 before."""
    text = raw.decode("utf-8-sig", errors="replace")
    replaced = text.count("\ufffd") - raw.count("\ufffd".encode())
    in_utf8 = sum(not letter.isascii() for letter in text) - replaced
    return text, replaced, in_utf8 >= LEAST_IN_UTF8 and in_utf8 > replaced


def told_by_letters(raw: bytes) -> Reading | None:
    """Return the one reading of a text that is likely; None if none is, or if several are."""
    detector = EncodingDetector()
    detector.feed(raw, last=True)
    proposed = reading_as(raw, detector.guess(tld=None, allow_utf8=False))
    guesses = sorted({detector.guess(tld=country, allow_utf8=False) for country in _LATIN_COUNTRIES})
    if proposed is None or not reads_as_words(proposed.text):
        return _of_one_alphabet(raw, [*guesses, *_OF_OLD_MACHINES])
    script = script_of(proposed.text)
    if script == "CJK":
        return proposed if _is_clear(raw, proposed) else None
    if script != "LATIN":
        letters = _letters(proposed.text)
        enough = letters >= LEAST_LETTERS or (letters >= LEAST_LETTERS_ALONE and _is_alone(raw, proposed))
        return proposed if enough and not _may_be_of_macintosh(raw, proposed) else None
    return _of_one_alphabet(raw, [proposed.encoding, *guesses] + ([] if _HIGH.search(raw) else [*_OF_OLD_MACHINES]))


def reads_as_words(text: str) -> bool:
    """Return whether a text has no letter that a person would not have typed beside the others."""
    return (
        all(map(_is_usual, set(text)))
        and _SYMBOL_IN_WORD.search(text) is None
        and not any(map(_is_no_word, _RUN.findall(text)))
    )


def fit_of(text: str) -> int:
    """Say how well the Latin letters of a text, beside a to z, are those of one language: 2 well, 1 hardly, 0 no."""
    written = {letter.lower() for letter in text if not letter.isascii() and letter.isalpha()}
    return max((written <= usual) + (written <= known) for usual, known in _ALPHABETS)


def script_of(text: str) -> str:
    """Return the script of a text's letters beside a to z, "CJK" for those of East Asia, or LATIN."""
    found = [script for letter in text if not letter.isascii() and (script := _script(letter))]
    return max(set(found), key=found.count, default="LATIN")


def _of_one_alphabet(raw: bytes, encodings: Iterable[str]) -> Reading | None:
    """Return the one Latin reading whose letters fit a language best."""
    found: dict[str, Reading] = {}
    for reading in filter(None, (reading_as(raw, encoding) for encoding in encodings)):
        if _stands_among_ascii(reading.text) and reads_as_words(reading.text):
            found.setdefault(reading.text, reading)
    fits = {text: fit_of(text) for text in found}
    best = [text for text, fit in fits.items() if fit and fit == max(fits.values())]
    return found[best[0]] if len(best) == 1 else None


def _is_clear(raw: bytes, proposed: Reading) -> bool:
    """Return whether East Asian text is of one language: by its kana or Hangul, or because there is enough of it."""
    text = proposed.text
    ideographs, kana, hangul = (len(of.findall(text)) for of in (_IDEOGRAPH, _KANA, _HANGUL))
    if _unusual_share(proposed) > MAX_UNUSUAL_SHARE:
        return False
    if hangul > ideographs + kana:
        return hangul >= LEAST_HANGUL or _is_alone(raw, proposed)
    return kana >= LEAST_KANA or (ideographs >= LEAST_IDEOGRAPHS and not hangul) or _is_alone(raw, proposed)


def _is_alone(raw: bytes, proposed: Reading) -> bool:
    """Return whether no other East Asian reading makes words."""
    others = (reading_as(raw, encoding) for encoding in _EAST_ASIA)
    return not any(
        reads_as_words(other.text) and _unusual_share(other) <= MAX_RIVAL_UNUSUAL_SHARE
        for other in others
        if other is not None and other.text != proposed.text
    )


def _may_be_of_macintosh(raw: bytes, proposed: Reading) -> bool:
    """Return whether Cyrillic from Windows may be from a Macintosh: the small letters are the same.

    What are capitals there are quotation marks on Windows, which open a word and never end one.
    """
    if proposed.encoding != "cp1251":
        return False
    opens = any(not (mark.isascii() or mark.isalpha()) and letter.islower() for mark, letter in pairwise(proposed.text))
    other = reading_as(raw, "mac_cyrillic") if opens else None
    return other is not None and reads_as_words(other.text)


def _unusual_share(reading: Reading) -> float:
    """Return the share of ideographs and Hangul that are not of the part of a standard that holds the usual ones."""
    standard, first, last = _EAST_ASIA[reading.encoding]
    letters = [letter for letter in reading.text if _IDEOGRAPH.match(letter) or _HANGUL.match(letter)]
    unusual = sum(not first <= letter.encode(standard, errors="replace")[0] <= last for letter in letters)
    return unusual / len(letters) if letters else 0


def _stands_among_ascii(text: str) -> bool:
    """Return whether most Latin words that have an accent have a letter without one, too."""
    words = [word for word in _RUN.findall(text) if not word.isascii()]
    return 2 * sum(any(map(str.isascii, word)) for word in words) > len(words)


def _letters(text: str) -> int:
    return sum(letter.isalpha() for letter in text if not letter.isascii())


def _is_usual(letter: str) -> bool:
    if letter.isascii() or letter in _USUAL:
        return True
    kind = unicodedata.category(letter)
    if kind[0] == "L" or kind in {"Mn", "Mc"}:
        return not "\u3100" <= letter <= "\u312f"  # Bopomofo, which is in primers and in misread texts
    return (_is_east_asian(letter) and kind[0] in "PNSZ") or ("\u0370" <= letter <= "\u0eff" and kind[0] in "PN")


def _is_east_asian(letter: str) -> bool:
    return "\u3000" <= letter <= "\u30ff" or "\uff01" <= letter <= "\uffee" or "\u2010" <= letter <= "\u22ff"


def _is_no_word(run: str) -> bool:
    """Return whether a run of letters mixes scripts, or has a capital in its middle that is not of a name in code."""
    if run.isascii():
        return False
    found = {script for letter in run if (script := _script(letter))}
    return (len(found) > 1 and "CJK" not in found) or any(
        former.islower() and latter.isupper() and not (former.isascii() and latter.isascii())
        for former, latter in pairwise(run)
    )


def _script(letter: str) -> str:
    if letter in "ªºµ" or not letter.isalpha():
        return ""
    script = unicodedata.name(letter, "").split(" ")[0]
    return "CJK" if script in {"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "FULLWIDTH", "KATAKANA-HIRAGANA"} else script
