"""DOCX: documents of other formats that stand in the body of one (``w:altChunk``), read in their place."""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email import policy
from email.parser import BytesParser
from typing import Final

import docx
from docx.document import Document as Opened

from querymill_reading.document import ReadLimits, Remarks, Unreadable
from querymill_reading.formats.eml import body_of
from querymill_reading.formats.html import Walk, parsed
from querymill_reading.formats.letters import plain_parts
from querymill_reading.formats.packages import opened_by
from querymill_reading.formats.rtf import text_of_rtf, with_tables
from querymill_reading.formats.text import decoded
from querymill_reading.formats.zipped import checked
from querymill_reading.rules.sections import SectionPart

#: Documents within documents that are followed, and documents that one file has in all.
MAX_DEPTH: Final = 3
MAX_CHUNKS: Final = 200
_MAIL_BEGINNINGS: Final = (b"mime-version:", b"from:", b"content-type:")


@dataclass(slots=True)
class Chunks:
    """Reads the documents that stand in one document. ``of_text`` reads those of Word, which may have others."""

    limits: ReadLimits
    remarks: Remarks
    of_text: "Callable[[Opened, Chunks], Iterator[SectionPart]]"
    depth: int = 0
    count: int = 0

    def parts(self, opened: Opened, related: str) -> Iterator[SectionPart]:
        """Yield the parts of the document that a relation names.

        Raises:
            Unreadable: It is missing, of a format that is not read here, damaged, or one too many.
        """
        relation = opened.part.rels.get(related)
        if relation is None or relation.is_external:
            raise Unreadable("an embedded document: left out, the file lacks it")
        self.count += 1
        if self.count > MAX_CHUNKS or self.depth >= MAX_DEPTH:
            raise Unreadable("an embedded document: left out, there are too many of them, or one in the other")
        self.depth += 1
        try:
            yield from self._read(relation.target_part.blob, relation.target_part.content_type.lower())
        finally:
            self.depth -= 1

    def _read(self, raw: bytes, kind: str) -> Iterator[SectionPart]:
        """Yield the parts of a document by its beginning, or else by its type."""
        beginning = raw[:512].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
        if beginning.startswith(b"pk\x03\x04"):
            checked(io.BytesIO(raw), self.limits)
            inner, damaged = opened_by(docx.Document, io.BytesIO(raw), "DOCX")
            for member, why in damaged.items():
                self.remarks.note(why, member)
            yield from self.of_text(inner, self)
        elif beginning.startswith(b"{\\rtf"):
            text = with_tables(text_of_rtf(raw.decode("latin-1")))
            yield from plain_parts(text)
        elif "rfc822" in kind or "mht" in kind or beginning.startswith(_MAIL_BEGINNINGS):
            yield from body_of(BytesParser(policy=policy.default).parsebytes(raw), self.remarks, [], 0)
        elif "html" in kind or b"<html" in beginning or beginning.startswith(b"<!doctype html"):
            walk = Walk(self.remarks)
            yield from (part for part in walk.parts(parsed(raw, self.remarks)) if part.text != "\f")
            walk.note_left_out()
        elif kind.startswith("text/"):
            yield from plain_parts(decoded(raw, self.remarks, otherwise="cp1252"))
        else:
            raise Unreadable(f"an embedded document: left out, it is of type {kind}")
