"""DOCX: the sections under its headings, with its tables; text boxes, notes and what was inserted belong to it."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import docx
from docx.document import Document as Opened
from docx.oxml.ns import qn

from querymill_reading.document import Document, Page, Remarks, Unreadable
from querymill_reading.formats.charts import DIAGRAM, DIAGRAM_DATA, texts_of_chart, texts_of_diagram
from querymill_reading.formats.docx_lists import Lists
from querymill_reading.formats.docx_text import (
    CELL,
    PARAGRAPH,
    ROW,
    TABLE,
    count_pictures,
    note_left_out,
    paragraphs_of,
    text_of,
    within,
)
from querymill_reading.formats.packages import opened_by
from querymill_reading.formats.zipped import checked, xml_of
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.grids import grid_table, in_cell
from querymill_reading.rules.pictures import LEFT_OUT, PICTURE
from querymill_reading.rules.proposals import merged
from querymill_reading.rules.sections import SectionPart, sections

_STYLE = qn("w:pStyle")
_CHART: Final = "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"
_RELATED: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_NOTES: Final = ("footnotes", "endnotes")
_COMMENTS: Final = "/comments"
_REPEATED: Final = ("/header", "/footer")  # in the order in which they are read
_NUMBERING: Final = "/numbering"
_DELETED_MARK: Final = f"{qn('w:pPr')}/{qn('w:rPr')}/{qn('w:del')}"
_EMBEDDED: Final = ("/oleObject", "/package")
#: Columns that a cell may span; more are written to exhaust the memory.
MAX_SPAN: Final = 200
_TITLES: Final = ("title",)


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    checked(asked.path, asked.limits)
    remarks = Remarks()
    opened, damaged = opened_by(docx.Document, asked.path, "DOCX")
    if getattr(opened.element, "body", None) is None:
        main = opened.part.partname.lstrip("/")
        raise Unreadable(f"a broken DOCX file: {main}: {damaged.get(main) or 'no document in it'}")
    for member, why in damaged.items():
        remarks.note(why, member)
    parts = list(_parts(opened, remarks))
    parts.extend(_notes(opened, remarks))
    parts.extend(_comments(opened, remarks))
    parts.extend(_repeated(opened, remarks))
    with remarks.part("tracked changes"):
        note_left_out(opened.element.body, remarks)
    with remarks.part("pictures"):
        edges = (xml_of(content) for kind in _REPEATED for _, content in _related(opened, kind))
        remarks.count(sum(map(count_pictures, (opened.element.body, *edges))), PICTURE, LEFT_OUT)
    embedded = [content for _, content in _related(opened, _EMBEDDED)]
    remarks.count(len(embedded), "embedded file", "left out")
    pages = [Page(number, section) for number, section in enumerate(sections(parts), 1)]
    title, metadata = "", {}
    with remarks.part("properties"):
        about = opened.core_properties
        title = about.title or ""
        metadata = {name: value for name in ("author", "subject", "keywords") if (value := getattr(about, name))}
    heading = next((part.text for part in parts if part.level == 1), "")
    proposed = proposals(remarks, asked.name, [page.text for page in pages[:3]], title=title, heading=heading)
    kept = {name: value for name, value in metadata.items() if value != "python-docx"}
    return Document("docx", pages, merged(proposed), kept, remarks.noted)


def _parts(opened: Opened, remarks: Remarks) -> Iterator[SectionPart]:
    levels: dict[str | None, int] = {}
    with remarks.part("styles"):
        levels = _levels(opened)
    lists = _lists(opened, remarks)
    counts = dict.fromkeys((TABLE, PARAGRAPH), 0)
    for element in within(opened.element.body, (TABLE, PARAGRAPH)):
        counts[element.tag] += 1
        if element.tag == TABLE:
            with remarks.part(f"table {counts[TABLE]}"):
                table = grid_table(list(_grid(element, lists)))
                if table is not None:
                    yield SectionPart(table.markdown())
                yield from _drawn(element, opened, remarks)
        else:
            with remarks.part(f"paragraph {counts[PARAGRAPH]}"):
                yield from _of_paragraph(element, levels, lists)
            yield from _drawn(element, opened, remarks)
    lists.note_unknown(remarks)


def _lists(opened: Opened, remarks: Remarks) -> Lists:
    """Return the lists that number the paragraphs; none if they are damaged."""
    with remarks.part("numbers of lists"):
        numbering = next((xml_of(content) for _, content in _related(opened, _NUMBERING)), None)
        return Lists.of(numbering, opened.styles.element)
    return Lists()


def _numbered(paragraph: Any, lists: Lists) -> str:
    """Return the text of a paragraph, behind what stands before it in a list."""
    text = text_of(paragraph).strip()
    if not text and paragraph.find(_DELETED_MARK) is not None:
        return ""  # it was deleted whole, and is no item any more
    label = lists.label_of(paragraph)
    return f"{label} {text}".strip() if text else ""


def _of_paragraph(element: Any, levels: Mapping[str | None, int], lists: Lists) -> Iterator[SectionPart]:
    text = _numbered(element, lists)
    if text:
        style = element.find(f"{qn('w:pPr')}/{_STYLE}")
        level = levels.get(style.get(qn("w:val")), 0) if style is not None else 0
        yield SectionPart(" ".join(text.split()) if level else text, level)


def _drawn(paragraph: Any, opened: Opened, remarks: Remarks) -> Iterator[SectionPart]:
    """Yield the title and the figures of each chart that is drawn in a paragraph, and the texts of each diagram."""
    for tag, name, texts_in in ((_CHART, _RELATED, texts_of_chart), (DIAGRAM, DIAGRAM_DATA, texts_of_diagram)):
        for drawn in paragraph.iter(tag):
            related = drawn.get(name) or ""
            with remarks.part(f"{tag.rpartition('}')[2]} {related}"):
                relation = opened.part.rels.get(related)
                if relation is not None and not relation.is_external:
                    yield from map(SectionPart, texts_in(xml_of(relation.target_part.blob)))


def _grid(table: Any, lists: Lists) -> Iterator[list[str]]:
    """Yield the rows; a merged cell stands in each of its columns.

    One that is merged with that above is empty, but a name of rows is the name of each that has another text.
    """
    name = ""
    for row in within(table, (ROW,)):
        cells = [""] * min(row.grid_before, MAX_SPAN)
        has_text = False
        for cell in within(row, (CELL,)):
            is_below = cell.vMerge == "continue"
            text = "" if is_below else " ".join(filter(None, _in_cell(cell, lists)))
            has_text = has_text or bool(text)
            if not cells:
                name = text = name if is_below else text
            cells.extend([text] * min(cell.grid_span, MAX_SPAN))
        if has_text:
            yield cells


def _in_cell(cell: Any, lists: Lists) -> Iterator[str]:
    """Yield the texts of a cell; a table in it keeps its rows and columns."""
    for block in within(cell, (PARAGRAPH, TABLE)):
        if block.tag == TABLE:
            yield in_cell(_grid(block, lists))
        else:
            yield " ".join(_numbered(block, lists).split())


def _levels(opened: Opened) -> dict[str | None, int]:
    """Return the level of each style of headings, whatever the language of its name."""
    levels: dict[str | None, int] = {}
    for style in opened.styles.element.iterchildren(qn("w:style")):
        name = style.find(qn("w:name"))
        written = (name.get(qn("w:val")) or "").lower() if name is not None else ""
        outline = style.find(f"{qn('w:pPr')}/{qn('w:outlineLvl')}")
        if written.startswith("heading ") and written[8:].isdecimal():
            levels[style.get(qn("w:styleId"))] = int(written[8:])
        elif written in _TITLES:
            levels[style.get(qn("w:styleId"))] = 1
        elif outline is not None and (outline.get(qn("w:val")) or "9").isdecimal():
            level = int(outline.get(qn("w:val")) or 9) + 1
            if level < 10:
                levels[style.get(qn("w:styleId"))] = level
    return levels


def _related(opened: Opened, kinds: str | tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Yield the kind and the content of the parts of some kinds that belong to the document."""
    for relation in opened.part.rels.values():
        if not relation.is_external and relation.reltype.endswith(kinds):
            yield relation.reltype.rpartition("/")[2], relation.target_part.blob


def _notes(opened: Opened, remarks: Remarks) -> Iterator[SectionPart]:
    """Yield the footnotes and endnotes."""
    for kind, content in _related(opened, _NOTES):
        with remarks.part(kind):
            for paragraph in xml_of(content).iter(PARAGRAPH):
                text = text_of(paragraph).strip()
                if text:
                    yield SectionPart(text)


def _comments(opened: Opened, remarks: Remarks) -> Iterator[SectionPart]:
    """Yield what people wrote in the margin, each with its author."""
    for kind, content in _related(opened, _COMMENTS):
        with remarks.part(kind):
            for comment in xml_of(content).iter(qn("w:comment")):
                lines = (" ".join(text_of(paragraph).split()) for paragraph in comment.iter(PARAGRAPH))
                text = " ".join(filter(None, lines))
                if text:
                    yield SectionPart(f"Comment by {comment.get(qn('w:author')) or 'a reader'}: {text}")


def _repeated(opened: Opened, remarks: Remarks) -> Iterator[SectionPart]:
    """Yield what stands at the edges of every page, each text once."""
    told: dict[str, None] = {}
    for kind, content in (each for edge in _REPEATED for each in _related(opened, edge)):
        with remarks.part(kind):
            lines = (" ".join(text_of(paragraph).split()) for paragraph in paragraphs_of(xml_of(content)))
            text = " ".join(filter(None, lines))
            if any(letter.isalpha() for letter in text):
                told[f"{kind.capitalize()}: {text}"] = None
    remarks.count(len(told), "header or footer", "read once, at the end")
    yield from map(SectionPart, told)
