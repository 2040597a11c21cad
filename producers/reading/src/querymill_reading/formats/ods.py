"""ODS: the tables of each sheet, as they are shown; long ones are cut into pages that repeat the names of columns."""

from typing import Any

from querymill_reading.document import Document, Page, Remarks
from querymill_reading.formats.odf import TABLE, Reading, opened
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.sheets import sheet_pages


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    remarks = Remarks()
    found = opened(asked, remarks)
    reading = Reading(remarks, found.lists, found.controls)
    texts: list[str] = []
    names: list[str] = []
    copied = 0
    for number, sheet in enumerate(found.body.iterchildren(f"{TABLE}table"), 1):
        is_hidden = sheet.get(f"{TABLE}style-name") in found.hidden
        if _is_copy(sheet, is_hidden=is_hidden):
            copied += 1
            continue
        name = sheet.get(f"{TABLE}name") or f"sheet {number}"
        with remarks.part(f"sheet {name}"):
            asked.on_page(number)
            names.append(name)
            rows = list(reading.rows(sheet))
            if is_hidden:
                remarks.note("a hidden sheet, read all the same", f"sheet {name}")
            remarks.count(reading.hidden_rows, "hidden row", "read all the same", f"sheet {name}")
            boxes = [part.text for shapes in sheet.iterchildren(f"{TABLE}shapes") for part in reading.parts(shapes)]
            texts.extend(sheet_pages(name, rows, [*boxes, *reading.notes]))
        reading.notes.clear()
        reading.hidden_rows = 0
    remarks.count(copied, "sheet of another file", "left out: a copy that formulas refer to")
    reading.note_left_out(found)
    pages = [Page(number, text) for number, text in enumerate(texts, 1)]
    title = found.about.pop("title", "")
    metadata = {**found.about, "sheets": names}
    return Document("ods", pages, proposals(remarks, asked.name, [], title=title), metadata, remarks.noted)


def _is_copy(sheet: Any, *, is_hidden: bool) -> bool:
    """Return whether a sheet is a hidden copy of one in another file, which a program keeps for formulas.

    A sheet that a user links to another file has a source too, but is shown.
    """
    name = sheet.get(f"{TABLE}name") or ""
    return sheet.find(f"{TABLE}table-source") is not None and (is_hidden or (name.startswith("'") and "'#" in name))
