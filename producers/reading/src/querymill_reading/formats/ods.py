"""ODS: the tables of each sheet, as they are shown; long ones are cut into pages that repeat the names of columns."""

from querymill_reading.document import Document, Page, Remarks
from querymill_reading.formats.odf import TABLE, Reading, opened
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.sheets import sheet_pages


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    remarks = Remarks()
    found = opened(asked, remarks)
    reading = Reading(remarks, found.lists)
    texts: list[str] = []
    names: list[str] = []
    for number, sheet in enumerate(found.body.iterchildren(f"{TABLE}table"), 1):
        name = sheet.get(f"{TABLE}name") or f"sheet {number}"
        with remarks.part(f"sheet {name}"):
            asked.on_page(number)
            names.append(name)
            rows = list(reading.rows(sheet))
            hidden = sum(
                row.get(f"{TABLE}visibility") in ("collapse", "filter") for row in sheet.iter(f"{TABLE}table-row")
            )
            remarks.count(hidden, "hidden row", "read all the same", f"sheet {name}")
            boxes = [part.text for shapes in sheet.iterchildren(f"{TABLE}shapes") for part in reading.parts(shapes)]
            texts.extend(sheet_pages(name, rows, [*boxes, *reading.notes]))
        reading.notes.clear()
    reading.note_left_out(found)
    pages = [Page(number, text) for number, text in enumerate(texts, 1)]
    title = found.about.pop("title", "")
    metadata = {**found.about, "sheets": names}
    return Document("ods", pages, proposals(remarks, asked.name, [], title=title), metadata, remarks.noted)
