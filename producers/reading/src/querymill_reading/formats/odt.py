"""ODT: the sections under its headings, with its tables, notes and comments."""

from querymill_reading.document import Document, Page, Remarks
from querymill_reading.formats.odf import Reading, opened
from querymill_reading.formats.odf_edges import repeated_texts
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.sections import SectionPart, sections


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    remarks = Remarks()
    found = opened(asked, remarks)
    reading = Reading(remarks, found.lists, found.controls)
    parts = list(reading.parts(found.body))
    parts.extend(map(SectionPart, reading.notes))
    reading.notes.clear()
    with remarks.part("headers and footers"):
        edges = repeated_texts(found, reading)
        remarks.count(len(edges), "header or footer", "read once, at the end")
        parts.extend(map(SectionPart, edges))
    reading.note_left_out(found)
    pages = [Page(number, section) for number, section in enumerate(sections(parts), 1)]
    heading = next((part.text for part in parts if part.level == 1), "")
    title = found.about.pop("title", "")
    proposed = proposals(remarks, asked.name, [page.text for page in pages[:3]], title=title, heading=heading)
    return Document("odt", pages, proposed, found.about, remarks.noted)
