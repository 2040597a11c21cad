"""Bytes of a source file as text: by their mark, as UTF-8, by the encoding that is stated, or by their letters."""

import codecs
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from querymill.code_bases.declared import declared_in
from querymill_reading.legacy_encodings import (
    Reading,
    escaped_in,
    fit_of,
    reading_as,
    reads_as_words,
    replaced_in,
    script_of,
    told_by_letters,
)
from querymill_reading.rules.beginnings import looks_like_text, wide_encoding
from querymill_shared.contracts.fields import without_nul

#: A NUL among this many first bytes makes a file binary, as for git.
LOOKED_AT: Final = 8_000
#: In a text of unknown encoding, unreadable bytes are replaced; if they are more than this share, it is not read.
MAX_REPLACED_SHARE: Final = 0.1
#: Two bytes at the beginning may be a mark by chance. A text in that encoding then has hardly an ASCII character.
MIN_ASCII_SHARE: Final = 0.2
BINARY: Final = "binary"
NOT_UTF8: Final = "not UTF-8: what cannot be read was replaced"
NOT_READ: Final = "not UTF-8, and in which encoding is undecided (`charset` in .editorconfig says it)"
UNDECIDED: Final = f"{NOT_READ}: what cannot be read was replaced"

#: The mark of UTF-32 begins with that of UTF-16, so it comes first.
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: Unmarked Latin-1 with bytes for control characters is what the web reads it as.
_CONTROL: Final = re.compile("[\x80-\x9f]")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text, what is said of its decoding, and the legacy encoding that it is in; None for Unicode.

    ``undecided`` if letters were replaced because several encodings would do.
    """

    text: str
    remark: str = ""
    encoding: str | None = None
    undecided: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a file's encoding from outside: what is ``stated`` for it, and what is read ``around`` it.

    ``stated`` names come from attributes and editors, the most binding first; of ``around``, groups of encodings, the
    nearest first, a group tells if one of it fits.
    """

    stated: Sequence[str] = ()
    around: Sequence[Iterable[str]] = ()


def text_of(raw: bytes, evidence: Evidence = Evidence()) -> Decoded | str:
    """Return bytes as text, or the reason why they are not read as one."""
    if (marked := _by_mark(raw) or _stated_wide(raw, evidence.stated)) is not None:
        return marked
    if b"\x00" in raw[:LOOKED_AT]:
        return BINARY
    if (text := _decoded(raw, "utf-8-sig")) is not None:
        escaped = escaped_in(raw)
        return Decoded(without_nul(text)) if escaped is None else _read_as(escaped)
    replaced = _replaced(raw)
    is_text = looks_like_text(raw[:LOOKED_AT])
    if is_text and (replaced is None or replaced.undecided):
        return _in_legacy(raw, evidence) or replaced or NOT_READ
    return replaced or BINARY


def is_unicode(raw: bytes) -> bool:
    """Return whether bytes need no evidence."""
    return b"\x00" not in raw[:LOOKED_AT] and _decoded(raw, "utf-8-sig") is not None


def printable(path: str) -> str:
    """Return a path that can be shown, whatever its bytes."""
    return path.encode(errors="surrogateescape").decode(errors="replace")


def _in_legacy(raw: bytes, evidence: Evidence) -> Decoded | None:
    reading = _as_stated(raw, [*declared_in(raw), *evidence.stated]) or told_by_letters(raw)
    if reading is not None:
        return _read_as(reading)
    like = _like_others(raw, evidence.around)
    return None if like is None else _read_as(like, ", like its neighbours")


def _read_as(reading: Reading, why: str = "") -> Decoded:
    return Decoded(without_nul(reading.text), f"read as {reading.encoding.upper()}{why}", reading.encoding)


def _by_mark(raw: bytes) -> Decoded | None:
    for mark, encoding in _MARKS:
        if raw.startswith(mark) and (text := _decoded(raw, encoding)) is not None and _is_plausible(text):
            return Decoded(without_nul(text), f"read as {encoding.upper()}")
    encoding = wide_encoding(raw[:LOOKED_AT])
    text = _decoded(raw, encoding) if encoding else None
    return Decoded(without_nul(text), f"read as {encoding.upper()}") if text and _is_plausible(text) else None


def _stated_wide(raw: bytes, stated: Iterable[str]) -> Decoded | None:
    """Read what is stated to be UTF-16 or UTF-32, though it has no mark."""
    for name in stated:
        reading = reading_as(raw, name) if re.match("utf[-_]?(?:16|32)", name, re.IGNORECASE) else None
        if reading is not None and _is_plausible(reading.text):
            return Decoded(without_nul(reading.text.removeprefix("\ufeff")), f"read as {reading.encoding.upper()}")
    return None


def _decoded(raw: bytes, encoding: str) -> str | None:
    try:
        return raw.decode(encoding)
    except (UnicodeError, LookupError):
        return None


def _is_plausible(text: str) -> bool:
    return "\x00" not in text and sum(map(str.isascii, text)) >= len(text) * MIN_ASCII_SHARE


def _replaced(raw: bytes) -> Decoded | None:
    """Return what can be read as UTF-8, None if that is too little; "undecided" if it may be another encoding."""
    written, replaced, was_utf8 = replaced_in(raw)
    text = without_nul(written)
    if replaced > len(text) * MAX_REPLACED_SHARE:
        return None
    return Decoded(text, NOT_UTF8) if was_utf8 else Decoded(text, UNDECIDED, undecided=True)


def _as_stated(raw: bytes, names: Iterable[str]) -> Reading | None:
    """Read bytes by the first name of an encoding that they can be in.

    Any bytes are Latin-1. If its letters are those of no language, and plainly those of another script, the name is
    wrong.
    """
    for reading in filter(None, (reading_as(raw, name) for name in names)):
        if reading.encoding == "iso8859-1" and _CONTROL.search(reading.text):
            return reading_as(raw, "cp1252") or reading
        if script_of(reading.text) == "LATIN" and not fit_of(reading.text):
            told = told_by_letters(raw)
            return told if told is not None and script_of(told.text) != "LATIN" else reading
        return reading
    return None


def _like_others(raw: bytes, around: Iterable[Iterable[str]]) -> Reading | None:
    for group in around:
        readings = [reading for name in sorted(set(group)) if (reading := reading_as(raw, name)) is not None]
        likely = {reading.text: reading for reading in readings if reads_as_words(reading.text)}
        if likely:
            return next(iter(likely.values())) if len(likely) == 1 else None
    return None
