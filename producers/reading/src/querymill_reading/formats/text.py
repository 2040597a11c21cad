"""Plain text: pages at form feeds, else sections of a few paragraphs."""

import codecs
import re
from typing import Final

from querymill_reading.document import Document, Page, Remarks, Unreadable
from querymill_reading.legacy_encodings import escaped_in, replaced_in, told_by_letters
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.beginnings import LOOKED_AT, looks_like_text, wide_encoding
from querymill_reading.rules.sections import packed

_BLANK_LINES: Final = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
#: The encoding of a longer text is told by so many bytes of it.
GUESSED_FROM: Final = 200_000
#: A text of unknown encoding is read if no more letters than this share are replaced.
MAX_REPLACED_SHARE: Final = 0.1
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
    remarks = Remarks()
    text = decoded(raw, remarks)
    sheets = text.split("\f") if "\f" in text else [_joined(group) for group in packed(_BLANK_LINES.split(text))]
    pages = [Page(number, sheet.strip("\n")) for number, sheet in enumerate(sheets, 1) if sheet.strip()]
    proposed = proposals(remarks, asked.name, [page.text for page in pages])
    return Document("text", pages, proposed, remarks=remarks.noted)


def decoded(raw: bytes, remarks: Remarks | None = None, *, otherwise: str = "") -> str:
    """Return bytes as text: by their mark, as UTF-8, or in the encoding that their letters tell.

    A remark says how a text was read that is not in Unicode. ``otherwise`` is the encoding of one that nothing tells.

    Raises:
        Unreadable: In which encoding it is, is undecided, and too much of it depends on that.
    """
    encoding = next((encoding for mark, encoding in _MARKS if raw.startswith(mark)), "") or wide_encoding(raw)
    if encoding:
        return _with_plain_ends(raw.decode(encoding, errors="replace"))
    noted = Remarks() if remarks is None else remarks
    try:
        text = raw.decode()
        escaped = escaped_in(raw)
    except UnicodeDecodeError:
        return _with_plain_ends(_in_legacy(raw, noted, otherwise))
    if escaped is not None:
        noted.note(f"read as {escaped.encoding.upper()}")
    return _with_plain_ends(text if escaped is None else escaped.text)


def _in_legacy(raw: bytes, remarks: Remarks, otherwise: str) -> str:
    """Return bytes as text that are not UTF-8."""
    text, replaced, was_utf8 = replaced_in(raw)
    reading = None if was_utf8 else told_by_letters(_sample(raw))
    if reading is not None:
        remarks.note(f"not UTF-8: read as {reading.encoding.upper()}, which its letters tell")
        text = raw.decode(reading.encoding, errors="replace")
        replaced = text.count("\ufffd")
    elif not was_utf8 and otherwise:
        remarks.note(f"not UTF-8, and in which encoding is undecided: read as {otherwise.upper()}")
        return raw.decode(otherwise, errors="replace")
    elif not was_utf8 and replaced > len(text) * MAX_REPLACED_SHARE:
        raise Unreadable("not UTF-8, and in which encoding is undecided: save it as UTF-8")
    elif not was_utf8:
        remarks.note("not UTF-8, and in which encoding is undecided: save it as UTF-8")
    remarks.count(replaced, "letter", "damaged, shown as \ufffd")
    return text


def _sample(raw: bytes) -> bytes:
    """Return the lines of a long text that tell its encoding: those with letters beyond ASCII."""
    if len(raw) <= GUESSED_FROM:
        return raw
    kept: list[bytes] = []
    size = 0
    for line in raw.split(b"\n"):
        if not line.isascii():
            kept.append(line)
            size += len(line)
        if size > GUESSED_FROM:
            break
    return b"\n".join(kept)


def _with_plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _joined(group: list[str]) -> str:
    return "\n\n".join(group)
