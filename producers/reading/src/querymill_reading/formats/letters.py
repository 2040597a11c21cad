"""Letters by mail: their heads and their texts become parts, whatever file brought them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import parseaddr
from typing import Final

from querymill_reading.document import Remarks
from querymill_reading.formats.html import Walk, parsed
from querymill_reading.rules.alternatives import says_more
from querymill_reading.rules.sections import SectionPart, packed

#: The fields of the head that are shown.
SHOWN: Final = ("From", "Reply-To", "To", "Cc", "Bcc", "Date")


@dataclass(frozen=True, slots=True)
class LetterForm:
    """One of the forms in which a mail has its text, and what is missing of it."""

    parts: list[SectionPart] = field(default_factory=list)
    remarks: Remarks = field(default_factory=Remarks)

    @property
    def text(self) -> str:
        """The text alone, to compare it with that of another form."""
        return "\n".join(part.text for part in self.parts)


def fuller(plain: LetterForm, rich: LetterForm) -> LetterForm:
    """Return the plain form of a text, unless there is none, or that in HTML has clearly more words.

    Some programs write into the plain one nothing but that the mail is in HTML.
    """
    if not plain.parts or not rich.parts:
        return plain if plain.parts else rich
    if not says_more(rich.text, plain.text):
        return plain
    if says_more(plain.text, rich.text):
        rich.remarks.note("left out: the text in HTML is another, and has more words", "the plain text")
    return rich


def head_of(subject: str, fields: Mapping[str, str]) -> Iterator[SectionPart]:
    """Yield the subject, as a heading, and a line for each field of a head that is given."""
    if subject:
        yield SectionPart(subject, 1)
    lines = [f"{name}: {' '.join(fields[name].split())}" for name in SHOWN if fields.get(name)]
    if lines:
        yield SectionPart("\n".join(lines))


def is_same_person(one: str, other: str) -> bool:
    """Return whether two fields of a head name the same address, or the same person if they have none."""
    first, second = (parseaddr(field)[1] or field for field in (one, other))
    return first.casefold() == second.casefold()


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
