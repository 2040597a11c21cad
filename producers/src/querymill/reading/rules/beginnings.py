"""What the first bytes of a file say."""

from typing import Final

#: How many of them are looked at.
LOOKED_AT: Final = 4_096
#: The share of control characters that a text may have.
MAX_CONTROL: Final = 0.02


def looks_like_text(head: bytes) -> bool:
    """Return whether the first bytes of a file are those of a text."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    control = sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in head)
    return b"\x00" not in head and control <= len(head) * MAX_CONTROL
