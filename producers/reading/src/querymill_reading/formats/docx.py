"""DOCX: the sections under its headings, with its tables; text boxes, notes and what was inserted belong to it."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import docx
from docx.document import Document as Opened
from docx.oxml.ns import qn
from docx.table import Table

from querymill_reading.document import Document, Page, Remarks
from querymill_reading.formats.charts import texts_of_chart
from querymill_reading.formats.packages import opened_by
from querymill_reading.formats.zipped import checked, xml_of
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.grids import grid_table
from querymill_reading.rules.proposals import merged
from querymill_reading.rules.sections import SectionPart, sections

_PARAGRAPH, _TABLE, _CONTENT, _CONTROL = qn("w:p"), qn("w:tbl"), qn("w:sdtContent"), qn("w:sdt")
_MATHS: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
#: What stands before a part of a formula, and the signs of sums and integrals.
_BEFORE: Final = {f"{_MATHS}den": "/", f"{_MATHS}sup": "^", f"{_MATHS}sub": "_", f"{_MATHS}rad": "√"}
_SIGN, _BRACKETS, _VALUE = f"{_MATHS}chr", f"{_MATHS}d", f"{_MATHS}val"
_TEXTS: Final = (qn("w:t"), f"{_MATHS}t")
_SPACES: Final = {qn("w:tab"): "\t", qn("w:br"): "\n"}
_STYLE = qn("w:pStyle")
_LEFT_OUT: Final = frozenset((qn("w:del"), "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"))
#: The cells of a row, those in content controls too.
_CELLS: Final = "./w:tc | ./w:sdt/w:sdtContent/w:tc"
_CHART: Final = "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"
_RELATED: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_NOTES: Final = ("footnotes", "endnotes")
_COMMENTS: Final = "/comments"
_TITLES: Final = ("title",)


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    checked(asked.path, asked.limits)
    remarks = Remarks()
    opened, damaged = opened_by(docx.Document, asked.path, "DOCX")
    for member, why in damaged.items():
        remarks.note(why, member)
    parts = list(_parts(opened, remarks))
    parts.extend(_notes(opened, remarks))
    parts.extend(_comments(opened, remarks))
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
    counts = dict.fromkeys((_TABLE, _PARAGRAPH), 0)
    for element in _blocks(opened.element.body):
        counts[element.tag] += 1
        if element.tag == _TABLE:
            with remarks.part(f"table {counts[_TABLE]}"):
                table = grid_table(list(_grid(Table(element, opened))))
                if table is not None:
                    yield SectionPart(table.markdown())
        else:
            with remarks.part(f"paragraph {counts[_PARAGRAPH]}"):
                yield from _of_paragraph(element, levels)
            yield from _charts(element, opened, remarks)


def _of_paragraph(element: Any, levels: Mapping[str | None, int]) -> Iterator[SectionPart]:
    text = text_of(element)
    if text.strip():
        style = element.find(f"{qn('w:pPr')}/{_STYLE}")
        level = levels.get(style.get(qn("w:val")), 0) if style is not None else 0
        yield SectionPart(" ".join(text.split()) if level else text.strip(), level)


def _charts(paragraph: Any, opened: Opened, remarks: Remarks) -> Iterator[SectionPart]:
    """Yield the title and the figures of each chart that is drawn in a paragraph."""
    for chart in paragraph.iter(_CHART):
        related = chart.get(_RELATED) or ""
        with remarks.part(f"chart {related}"):
            relation = opened.part.rels.get(related)
            if relation is not None and not relation.is_external:
                yield from map(SectionPart, texts_of_chart(xml_of(relation.target_part.blob)))


def _blocks(body: Any) -> Iterator[Any]:
    """Yield the paragraphs and tables of a body, those in content controls too."""
    for element in body:
        if element.tag in (_PARAGRAPH, _TABLE):
            yield element
        elif element.tag == _CONTROL:
            for content in element.iterchildren(_CONTENT):
                yield from _blocks(content)


def text_of(paragraph: Any) -> str:
    """Return the text of a paragraph as it is shown: what was deleted is not."""
    pieces: list[str] = []
    held: list[Any] = [paragraph]
    while held:
        element = held.pop()
        if isinstance(element, str):
            pieces.append(element)
        elif element.tag not in _LEFT_OUT:
            before, after = _around(element, is_first=not pieces)
            pieces.append(before)
            held.extend([after, *reversed(list(element))])
    return "".join(pieces)


def _around(element: Any, *, is_first: bool) -> tuple[str, str]:
    """Return what stands before and after what is in an element; a text is what stands before nothing."""
    tag = element.tag
    if tag in _TEXTS:
        return element.text or "", ""
    if tag == _PARAGRAPH:
        return "" if is_first else "\n", ""
    if tag == _BRACKETS:
        begin, end = (element.find(f"{_MATHS}dPr/{_MATHS}{name}Chr") for name in ("beg", "end"))
        opens = "(" if begin is None else begin.get(_VALUE) or ""
        return opens, ")" if end is None else end.get(_VALUE) or ""
    if tag in _BEFORE:
        return _BEFORE[tag] if next(element.iter(f"{_MATHS}t"), None) is not None else "", ""
    return (element.get(_VALUE) or "" if tag == _SIGN else _SPACES.get(tag, "")), ""


def _grid(table: Table) -> Iterator[list[str]]:
    """Yield the rows; a merged cell stands in each of its columns.

    One that is merged with that above is empty, but a name of rows is the name of each.
    """
    name = ""
    for row in table.rows:
        cells = [""] * row.grid_cols_before
        for cell in row._tr.xpath(_CELLS):  # noqa: SLF001  # the public list repeats what is merged downwards
            held = [
                " ".join(text_of(paragraph).split())
                for block in _blocks(cell)
                for paragraph in ([block] if block.tag == _PARAGRAPH else block.iter(_PARAGRAPH))
            ]
            is_below = cell.vMerge == "continue"
            text = "" if is_below else " ".join(filter(None, held))
            if not cells:
                name = text = name if is_below else text
            cells.extend([text] * min(cell.grid_span, 200))
        yield cells


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
            for paragraph in xml_of(content).iter(_PARAGRAPH):
                text = text_of(paragraph).strip()
                if text:
                    yield SectionPart(text)


def _comments(opened: Opened, remarks: Remarks) -> Iterator[SectionPart]:
    """Yield what people wrote in the margin, each with its author."""
    for kind, content in _related(opened, _COMMENTS):
        with remarks.part(kind):
            for comment in xml_of(content).iter(qn("w:comment")):
                lines = (" ".join(text_of(paragraph).split()) for paragraph in comment.iter(_PARAGRAPH))
                text = " ".join(filter(None, lines))
                if text:
                    yield SectionPart(f"Comment by {comment.get(qn('w:author')) or 'a reader'}: {text}")
