"""What the first bytes of a file say."""

import re
from typing import Final

#: How a PDF file begins, and what it has near its beginning in any case.
HEAD: Final = b"%PDF-"
OBJECT: Final = re.compile(rb"^\s*\d+ \d+ obj\b", re.M)
#: How many of them are looked at.
LOOKED_AT: Final = 4_096
#: The share of control characters that a text may have.
MAX_CONTROL: Final = 0.02
#: Letters of two bytes that tell an encoding, and the share of them of which one byte is zero.
LEAST_LETTERS: Final = 8
LEAST_ZEROS: Final = 0.3
#: Letters of four bytes that tell it.
LEAST_WIDE_LETTERS: Final = 4
#: The number of the last plane of Unicode.
LAST_PLANE: Final = 16


def looks_like_text(head: bytes) -> bool:
    """Return whether the first bytes of a file are those of a text."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")) or wide_encoding(head):
        return True
    return b"\x00" not in head and _control(head) <= len(head) * MAX_CONTROL


def wide_encoding(head: bytes) -> str:
    """Return the encoding of a text of two or four bytes a letter that has no mark, or nothing.

    Of most letters of two bytes one of them is zero, always the same one, and the other is no control character.
    """
    if (encoding := _of_four_bytes(head[:LOOKED_AT])) is not None:
        return encoding
    first, second = head[0:LOOKED_AT:2], head[1:LOOKED_AT:2]
    zeros, ones = (first, second) if first.count(0) > second.count(0) else (second, first)
    if (
        len(ones) < LEAST_LETTERS
        or zeros.count(0) < len(zeros) * LEAST_ZEROS
        or _control(ones) > len(ones) * MAX_CONTROL
    ):
        return ""
    return "utf-16-be" if zeros is first else "utf-16-le"


def _of_four_bytes(head: bytes) -> str | None:
    """Return the encoding of a text of four bytes a letter: of each, one end is zero, and what is next to it small."""
    if len(head) % 4 or len(head) < 4 * LEAST_WIDE_LETTERS:
        return None
    places = [head[at::4] for at in range(4)]
    if not any(places[3]) and max(places[2]) <= LAST_PLANE and any(places[0]):
        return "utf-32-le"
    return "utf-32-be" if not any(places[0]) and max(places[1]) <= LAST_PLANE and any(places[3]) else None


def _control(written: bytes) -> int:
    return sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in written)
