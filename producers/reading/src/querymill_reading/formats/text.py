"""Plain text: pages at form feeds, else sections of a few paragraphs."""

import codecs
import re
from typing import Final

from charset_normalizer import from_bytes

from querymill_reading.document import Document, Page, Remarks, Unreadable
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.beginnings import LOOKED_AT, looks_like_text, wide_encoding
from querymill_reading.rules.sections import packed

_BLANK_LINES: Final = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
#: Guessing an encoding looks at so many bytes.
GUESSED_FROM: Final = 200_000
#: The mark of UTF-32 begins with that of UTF-16, so it comes first.
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    raw = asked.path.read_bytes()
    if not looks_like_text(raw[:LOOKED_AT]):
        raise Unreadable("not a text")
    text = decoded(raw)
    sheets = text.split("\f") if "\f" in text else [_joined(group) for group in packed(_BLANK_LINES.split(text))]
    pages = [Page(number, sheet.strip("\n")) for number, sheet in enumerate(sheets, 1) if sheet.strip()]
    remarks = Remarks()
    proposed = proposals(remarks, asked.name, [page.text for page in pages])
    return Document("text", pages, proposed, remarks=remarks.noted)


def decoded(raw: bytes) -> str:
    """Return bytes as text: by their mark, as UTF-8, or as what they most probably are."""
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return _with_plain_ends(raw.decode(encoding, errors="replace"))
    if encoding := wide_encoding(raw):
        return _with_plain_ends(raw.decode(encoding, errors="replace"))
    try:
        return _with_plain_ends(raw.decode())
    except UnicodeDecodeError:
        guess = from_bytes(raw[:GUESSED_FROM]).best()
        return _with_plain_ends(raw.decode(guess.encoding if guess else "cp1252", errors="replace"))


def _with_plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _joined(group: list[str]) -> str:
    return "\n\n".join(group)
