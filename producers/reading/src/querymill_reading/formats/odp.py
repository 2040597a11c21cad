"""ODP: a page for each slide, with its tables and the speaker's notes."""

from querymill_reading.document import Document, Page, Remarks
from querymill_reading.formats.odf import DRAW, PRESENTATION, Reading, opened
from querymill_reading.formats.odf_drawn import shows_something
from querymill_reading.read_request import ReadRequest, proposals


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    remarks = Remarks()
    found = opened(asked, remarks)
    reading = Reading(remarks, found.lists, found.controls)
    pages: list[Page] = []
    for number, slide in enumerate(found.body.iterchildren(f"{DRAW}page"), 1):
        texts: list[str] = []
        before = len(remarks.noted)
        with remarks.part(page=number):
            asked.on_page(number)
            for shape in slide:
                said = "\n".join(part.text for part in reading.parts([shape]))
                is_notes = shape.tag == f"{PRESENTATION}notes"
                if said:
                    texts.append(f"Notes: {said}" if is_notes else said)
            texts.extend(reading.notes)
        reading.notes.clear()
        pages.append(Page(number, "\n\n".join(texts)))
        if not texts and len(remarks.noted) == before and shows_something(slide):
            remarks.note("no text: a picture?", page=number)
    reading.note_left_out(found)
    title = found.about.pop("title", "")
    heading = next((page.text.split("\n")[0] for page in pages if page.text), "")
    proposed = proposals(remarks, asked.name, [page.text for page in pages[:3]], title=title, heading=heading)
    return Document("odp", pages, proposed, found.about, remarks.noted)
