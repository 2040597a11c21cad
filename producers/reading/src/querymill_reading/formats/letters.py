"""Letters by mail: their heads and their texts become parts, whatever file brought them."""

from collections.abc import Iterator, Mapping
from typing import Final

from querymill_reading.document import Remarks
from querymill_reading.formats.html import Walk, parsed
from querymill_reading.rules.sections import SectionPart, packed

#: The fields of the head that are shown.
SHOWN: Final = ("From", "To", "Cc", "Date")


def head_of(subject: str, fields: Mapping[str, str]) -> Iterator[SectionPart]:
    """Yield the subject, as a heading, and a line for each field of a head that is given."""
    if subject:
        yield SectionPart(subject, 1)
    lines = [f"{name}: {' '.join(fields[name].split())}" for name in SHOWN if fields.get(name)]
    if lines:
        yield SectionPart("\n".join(lines))


def plain_parts(text: str) -> Iterator[SectionPart]:
    """Yield the paragraphs of a plain text."""
    for group in packed(text.replace("\r\n", "\n").split("\n\n")):
        yield from (SectionPart(paragraph.strip("\n")) for paragraph in group if paragraph.strip())


def html_parts(raw: bytes, remarks: Remarks, label: str = "") -> list[SectionPart]:
    """Return the parts of a text in HTML. Its headings stand below the subject."""
    walk = Walk(remarks)
    found = walk.parts(parsed(raw, remarks, label=label))
    walk.note_left_out()
    return [SectionPart(part.text, part.level + 1 if part.level else 0) for part in found if part.text != "\f"]
