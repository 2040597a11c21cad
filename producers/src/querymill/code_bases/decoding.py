"""Bytes of a source file as text: UTF-8, UTF-16 and UTF-32 by their mark, the encoding that a file declares, GBK."""

import codecs
import re
from typing import Final

from querymill_shared.contracts.fields import without_nul

#: A NUL among this many first bytes makes a file binary, as for git.
LOOKED_AT: Final = 8_000
#: In a text of unknown encoding, unreadable bytes are replaced; if they are more than this share, the file is binary.
MAX_REPLACED_SHARE: Final = 0.1
#: Two bytes at the beginning may be a mark by chance. A text in that encoding then has hardly an ASCII character.
MIN_ASCII_SHARE: Final = 0.2
NOT_UTF8: Final = "not UTF-8: what cannot be read was replaced"

#: The mark of UTF-32 begins with that of UTF-16, so it comes first.
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: PEP 263: in the first two lines of a Python file; Emacs and Ruby write the same.
_DECLARED: Final = re.compile(rb"\A(?:[^\n]*\n)?[ \t\f]*#.*?coding[:=][ \t]*([-_.A-Za-z0-9]+)")
#: The share of ideographs that stand beside another one in a Chinese text.
MIN_RUNS_SHARE: Final = 0.8
_IDEOGRAPHS: Final = re.compile("[\u4e00-\u9fff]+")
_NOT_CHINESE: Final = re.compile("[^\x00-\x7f\u3000-\u303f\u4e00-\u9fff\uff00-\uffef\u2010-\u2027]")


def text_of(raw: bytes) -> tuple[str, str] | None:
    """Return bytes as text, with a remark if they are not UTF-8, or None if they are not text."""
    for mark, encoding in _MARKS:
        if raw.startswith(mark) and (text := _decoded(raw, encoding)) is not None and _is_plausible(text):
            return without_nul(text), f"read as {encoding.upper()}"
    if b"\x00" in raw[:LOOKED_AT]:
        return None
    if (text := _decoded(raw, "utf-8-sig")) is not None:
        return without_nul(text), ""
    if (declared := _as_declared(raw)) is not None:
        return declared
    if (text := _decoded(raw, "gb18030")) is not None and _is_chinese(text):
        return without_nul(text), "read as GB18030"
    text = without_nul(raw.decode("utf-8-sig", errors="replace"))
    replaced = text.count("\ufffd") - raw.count("\ufffd".encode())
    return None if replaced > len(text) * MAX_REPLACED_SHARE else (text, NOT_UTF8)


def printable(path: str) -> str:
    """Return a path that can be shown, whatever its bytes."""
    return path.encode(errors="surrogateescape").decode(errors="replace")


def _decoded(raw: bytes, encoding: str) -> str | None:
    try:
        return raw.decode(encoding)
    except (UnicodeError, LookupError):
        return None


def _is_plausible(text: str) -> bool:
    return "\x00" not in text and sum(map(str.isascii, text)) >= len(text) * MIN_ASCII_SHARE


def _is_chinese(text: str) -> bool:
    """Return whether a text reads as Chinese. Two accented letters of another encoding look like a lone ideograph."""
    runs = [len(run) for run in _IDEOGRAPHS.findall(text)]
    return _NOT_CHINESE.search(text) is None and sum(run for run in runs if run > 1) > MIN_RUNS_SHARE * sum(runs)


def _as_declared(raw: bytes) -> tuple[str, str] | None:
    found = _DECLARED.match(raw[:LOOKED_AT])
    if found is None:
        return None
    try:
        encoding = codecs.lookup(found[1].decode("ascii"))
    except LookupError:
        return None
    # Codecs such as base64 and zlib make no text.
    text = _decoded(raw, encoding.name) if encoding._is_text_encoding else None  # noqa: SLF001
    return None if text is None else (without_nul(text), f"read as {encoding.name.upper()}")
