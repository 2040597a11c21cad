"""DOCX: the sections under its headings, with its tables; text boxes, notes and what was inserted belong to it."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

import docx
from docx.document import Document as Opened
from docx.oxml.ns import qn

from querymill_reading.document import Document, Page, Remarks, Unreadable
from querymill_reading.formats.charts import DIAGRAM, DIAGRAM_DATA, texts_of_chart, texts_of_diagram
from querymill_reading.formats.docx_chunks import Chunks
from querymill_reading.formats.docx_lists import Lists
from querymill_reading.formats.docx_parts import mark_notes, notes, related, shown_edges
from querymill_reading.formats.docx_text import (
    CELL,
    CHUNK,
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
from querymill_reading.rules.merged_cells import Covered
from querymill_reading.rules.pictures import PICTURE, became
from querymill_reading.rules.proposals import merged
from querymill_reading.rules.sections import SectionPart, sections

_STYLE = qn("w:pStyle")
_CHART: Final = "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"
_RELATED: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_COMMENTS: Final = "/comments"
_NUMBERING: Final = "/numbering"
_DELETED_MARK: Final = f"{qn('w:pPr')}/{qn('w:rPr')}/{qn('w:del')}"
_EMBEDDED: Final = ("/oleObject", "/package")
#: Columns that a cell may span; more are written to exhaust the memory.
MAX_SPAN: Final = 200
#: Rows of a table that a merged cell may reach over.
_ANY_DEPTH: Final = 1 << 30
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
    chunks = Chunks(asked.limits, remarks, partial(_with_notes, remarks))
    parts = list(chunks.of_text(opened, chunks))
    parts.extend(_comments(opened, remarks))
    parts.extend(_repeated(opened, remarks))
    with remarks.part("tracked changes"):
        note_left_out(opened.element.body, remarks)
    with remarks.part("pictures"):
        edges = (xml_of(content) for _, content in shown_edges(opened))
        pictures = sum(map(count_pictures, (opened.element.body, *edges)))
        for count, what in became(pictures, [part.text for part in parts]):
            remarks.count(count, PICTURE, what)
    embedded = [content for _, content in related(opened, _EMBEDDED)]
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


def _with_notes(remarks: Remarks, opened: Opened, chunks: Chunks) -> Iterator[SectionPart]:
    """Yield the parts of a text, then its notes."""
    marks: dict[tuple[str, str], str] = {}
    with remarks.part("marks of notes"):
        marks = mark_notes(opened)
    yield from _parts(opened, chunks, remarks)
    yield from notes(opened, marks, remarks)


def _parts(opened: Opened, chunks: Chunks, remarks: Remarks) -> Iterator[SectionPart]:
    levels: dict[str | None, int] = {}
    with remarks.part("styles"):
        levels = _levels(opened)
    lists = _lists(opened, remarks)
    counts = dict.fromkeys((TABLE, PARAGRAPH, CHUNK), 0)
    for element in within(opened.element.body, (TABLE, PARAGRAPH, CHUNK)):
        counts[element.tag] += 1
        if element.tag == CHUNK:
            with remarks.part():
                yield from chunks.parts(opened, element.get(_RELATED) or "")
        elif element.tag == TABLE:
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
        numbering = next((xml_of(content) for _, content in related(opened, _NUMBERING)), None)
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
    """Yield the rows; a merged cell stands in each of its columns, and in each of its rows that has another text.

    One that is all of its row is a title, or a text, and stands there once.
    """
    covered = Covered()
    for row in within(table, (ROW,)):
        cells = [""] * min(row.grid_before, MAX_SPAN)
        has_text = False
        own = list(within(row, (CELL,)))
        for cell in own:
            span = min(cell.grid_span, MAX_SPAN)
            if cell.vMerge == "continue":
                cells.extend(map(covered.at, range(len(cells), len(cells) + span)))
                continue
            text = " ".join(filter(None, _in_cell(cell, lists)))
            has_text = has_text or bool(text)
            # The row does not say how far down the cell reaches: as far as the cells below go on.
            covered.cover(len(cells), span, _ANY_DEPTH, text)
            cells.extend([text] * span if len(own) > 1 else [text, *[""] * (span - 1)])
        if has_text:
            yield cells
        covered.row += 1


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


def _comments(opened: Opened, remarks: Remarks) -> Iterator[SectionPart]:
    """Yield what people wrote in the margin, each with its author."""
    for kind, content in related(opened, _COMMENTS):
        with remarks.part(kind):
            for comment in xml_of(content).iter(qn("w:comment")):
                lines = (" ".join(text_of(paragraph).split()) for paragraph in comment.iter(PARAGRAPH))
                text = " ".join(filter(None, lines))
                if text:
                    yield SectionPart(f"Comment by {comment.get(qn('w:author')) or 'a reader'}: {text}")


def _repeated(opened: Opened, remarks: Remarks) -> Iterator[SectionPart]:
    """Yield what stands at the edges of every page, each text once."""
    told: dict[str, None] = {}
    for kind, content in shown_edges(opened):
        with remarks.part(kind):
            lines = (" ".join(text_of(paragraph).split()) for paragraph in paragraphs_of(xml_of(content)))
            text = " ".join(filter(None, lines))
            if any(letter.isalpha() for letter in text):
                told[f"{kind.capitalize()}: {text}"] = None
    remarks.count(len(told), "header or footer", "read once, at the end")
    yield from map(SectionPart, told)
