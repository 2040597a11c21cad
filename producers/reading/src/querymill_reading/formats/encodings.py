"""Encodings by the labels that documents give them, read as browsers read them (the WHATWG encoding standard)."""

from typing import Final

import webencodings  # type: ignore[import-untyped]

#: What the standard means by a name, where the codec of that name knows fewer letters.
_WIDER: Final = {
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "x-user-defined": "cp1252",
}
#: A label of letters of two bytes that was read in single bytes cannot be true.
_NOT_OF_BYTES: Final = ("utf-16le", "utf-16be")
#: The share of letters beyond ASCII that may be damaged before a label is not believed.
MAX_DAMAGED: Final = 0.05
_REPLACED: Final = "\ufffd"


def codec_of(label: str) -> str:
    """Return the codec that a label means, "" if it means none."""
    found = webencodings.lookup(label)
    if found is None:
        return ""
    if found.name in _NOT_OF_BYTES:
        return "utf-8"
    return str(_WIDER.get(found.name, found.codec_info.name))


def decoded_as(raw: bytes, label: str) -> str | None:
    """Return bytes as a text in the encoding of a label; None if there is no such encoding or it cannot be the one.

    Single damaged letters are replaced.
    """
    codec = codec_of(label)
    if not codec:
        return None
    text = raw.decode(codec, errors="replace")
    damaged = text.count(_REPLACED) - _written(raw, codec)
    beyond = sum(letter > "\x7f" for letter in text) if damaged > 0 else 0
    return None if damaged > 1 and damaged > MAX_DAMAGED * beyond and codec == "utf-8" else text


def count_damaged(raw: bytes, text: str) -> int:
    """Return how many letters of a text stand for bytes that could not be read."""
    return max(text.count(_REPLACED) - _written(raw, "utf-8"), 0)


def _written(raw: bytes, codec: str) -> int:
    return raw.count(_REPLACED.encode()) if codec == "utf-8" else 0
