"""OpenDocument: what its texts, sheets and slides have in common. Each part of a document is read by itself."""

import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from querymill_reading.document import Remarks, Unreadable
from querymill_reading.formats.odf_cells import value_of
from querymill_reading.formats.odf_drawn import drawn_in
from querymill_reading.formats.odf_forms import Controls, count_unread
from querymill_reading.formats.odf_lists import Lists
from querymill_reading.formats.packages import content_of
from querymill_reading.formats.zipped import checked, recovered, xml_of
from querymill_reading.read_request import ReadRequest
from querymill_reading.rules.grids import grid_table, in_cell
from querymill_reading.rules.merged_cells import Covered
from querymill_reading.rules.pictures import PICTURE, became, described
from querymill_reading.rules.sections import SectionPart

OFFICE, TEXT, TABLE, DRAW, STYLE, PRESENTATION = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}"
    for name in ("office", "text", "table", "drawing", "style", "presentation")
)
DC = "{http://purl.org/dc/elements/1.1/}"
_MANIFEST: Final = "META-INF/manifest.xml"
_LEFT_OUT: Final = frozenset(
    [
        f"{TEXT}tracked-changes", f"{TEXT}ruby-text", f"{OFFICE}forms", f"{TEXT}sequence-decls",
        f"{TEXT}variable-decls",
        f"{OFFICE}event-listeners", f"{OFFICE}binary-data", f"{TEXT}user-field-decls", f"{TABLE}shapes", f"{DRAW}desc",
    ]
)  # fmt: skip
BLOCKS: Final = frozenset([f"{TEXT}p", f"{TEXT}h"])
#: What is said of a picture: its name and its description.
_SVG: Final = "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}"
_PICTURE_NAME, _PICTURE_TEXT = f"{_SVG}title", f"{_SVG}desc"
_BOXES: Final = frozenset([f"{DRAW}text-box", f"{DRAW}custom-shape"])
_SIGNS: Final = {f"{TEXT}s": " ", f"{TEXT}tab": "\t", f"{TEXT}line-break": "\n"}
_NOTES: Final = {f"{TEXT}note": "Note", f"{OFFICE}annotation": "Comment"}
#: Elements of texts that have none of their own.
_AROUND: Final = frozenset(
    f"{TEXT}{name}" for name in ("list", "list-item", "list-header", "section", "note", "note-body", "ruby")
)
#: A mark for blanks of the XML, which no XML can hold, and what becomes of it.
_BLANK: Final = "\0"
_BLANKS_OF_XML: Final = re.compile(r"[ \t\r\n]+")
_BLANKS: Final = re.compile(f"{_BLANK}+")
_AT_THE_END: Final = re.compile(f"{_BLANK}*(\n){_BLANK}*")
#: Cells, rows and blanks that are repeated; more are written to exhaust the memory.
MAX_REPEATED: Final = 200
_DIGITS: Final = re.compile("[0-9]{1,7}")


@dataclass(slots=True)
class Opened:
    """An opened file: its body, its styles and what it says about itself. A missing part is an empty element."""

    body: Any
    styles: Any
    meta: Any
    lists: Lists = field(default_factory=Lists)
    objects: int = 0
    hidden: frozenset[str] = frozenset()
    about: dict[str, str] = field(default_factory=dict)
    controls: Controls = field(default_factory=Controls)
    drawn: Counter[str] = field(default_factory=Counter)


def opened(asked: ReadRequest, remarks: Remarks) -> Opened:
    """Open a file, packed or flat.

    Raises:
        Unreadable: It is encrypted, or nothing of it can be read.
    """
    if not zipfile.is_zipfile(asked.path):
        root = xml_of(asked.path.read_bytes())
        objects = sum(1 for _ in root.iter(f"{DRAW}object-ole"))
        return _with_about(Opened(_body(root), root, root, Lists.of(root), objects, _hidden_tables(root)))
    checked(asked.path, asked.limits)
    with zipfile.ZipFile(asked.path) as archive:
        names = set(archive.namelist())
        if _MANIFEST in names and b"encryption-data" in content_of(archive, _MANIFEST)[0]:
            raise Unreadable("encrypted with a password")
        parts = {}
        for name in ("content.xml", "styles.xml", "meta.xml"):
            content, why = content_of(archive, name) if name in names else (b"", "")
            with remarks.part(name):
                parts[name] = recovered(content)
                if why or (content and parts[name].tag == "lost"):
                    raise Unreadable(why or "broken XML")
    found = Opened(_body(parts["content.xml"]), parts.get("styles.xml"), parts.get("meta.xml"))
    found.lists = Lists.of(*(parts[name] for name in ("styles.xml", "content.xml") if name in parts))
    found.hidden = _hidden_tables(parts["content.xml"])
    found.objects = sum(1 for _ in parts["content.xml"].iter(f"{DRAW}object", f"{DRAW}object-ole"))
    return _with_about(found)


def _body(root: Any) -> Any:
    body = root.find(f"{OFFICE}body") if root.tag != f"{OFFICE}body" else root
    if body is None or not len(body):
        raise Unreadable("a broken OpenDocument file: it has no body")
    return body[0]


def _hidden_tables(root: Any) -> frozenset[str]:
    """Return the names of the styles of tables that are not shown."""
    shown = root.iter(f"{STYLE}table-properties")
    return frozenset(
        each.getparent().get(f"{STYLE}name") or "" for each in shown if each.get(f"{TABLE}display") == "false"
    )


def _with_about(found: Opened) -> Opened:
    found.drawn = drawn_in(found.body)
    found.controls = Controls.of(found.body)
    for edge in found.styles.iter(f"{STYLE}header", f"{STYLE}footer") if found.styles is not None else ():
        found.drawn += drawn_in(edge)
    names = {"title": f"{DC}title", "author": f"{DC}creator", "subject": f"{DC}subject"}
    if found.meta is not None:
        found.about = {
            name: " ".join("".join(element.itertext()).split())
            for name, tag in names.items()
            if (element := next(found.meta.iter(tag), None)) is not None
        }
    return found


@dataclass(slots=True)
class Reading:
    """Reads paragraphs and tables, and counts what is left out."""

    remarks: Remarks
    lists: Lists = field(default_factory=Lists)
    controls: Controls = field(default_factory=Controls)
    left: Counter[str] = field(default_factory=Counter)
    descriptions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    hidden_rows: int = 0
    cells_around: int = 0

    def parts(self, element: Any) -> Iterator[SectionPart]:
        """Yield the parts below an element, those in sections, lists, boxes and indexes too."""
        for child in element:
            if (beside := self._beside(child)) is not None:
                yield from [SectionPart(beside.strip())] if beside else []
            elif child.tag in (*BLOCKS, f"{TABLE}table"):
                with self.remarks.part(f"{child.tag.rpartition('}')[2]} {child.get(f'{TABLE}name') or ''}".strip()):
                    yield from self._paragraph(child) if child.tag in BLOCKS else self._table(child)
            elif child.tag == f"{OFFICE}annotation":
                self._note(child)
            elif isinstance(child.tag, str):
                if child.get(f"{TEXT}display") == "none":
                    self.left["hidden section, read all the same"] += 1
                yield from self.parts(child)

    def _table(self, element: Any) -> Iterator[SectionPart]:
        table = grid_table(list(self.rows(element)))
        if table is not None:
            yield SectionPart(table.markdown())

    def _paragraph(self, element: Any) -> Iterator[SectionPart]:
        text = self.text(element).strip()
        if text:
            label = self.lists.label_of(element)
            level = element.get(f"{TEXT}outline-level") or "1" if element.tag == f"{TEXT}h" else "0"
            yield SectionPart(f"{label} {text}" if label else text, int(level) if level.isdecimal() else 1)
        yield from map(SectionPart, self.notes)
        self.notes.clear()

    def text(self, element: Any) -> str:
        """Return the text of an element; a note in it is kept for later.

        Blanks of the XML and its line breaks are one blank, whatever elements they stand in, and none at the end of a
        line.
        """
        text = "".join(self._pieces(element))
        return _BLANKS.sub(" ", _AT_THE_END.sub(r"\1", text).strip(_BLANK))

    def _pieces(self, element: Any) -> Iterator[str]:
        yield _written(element, element.text)
        for child in element:
            if child.tag in _NOTES:
                self._note(child)
                yield mark_of(child)
            elif (beside := self._beside(child)) is not None:
                yield beside
            elif child.tag in _SIGNS:
                yield _SIGNS[child.tag] * repeated(child, f"{TEXT}c")
            elif child.tag == f"{TABLE}table":
                yield from (f"\n{inner}\n" for inner in [self._inner(child)] if inner)
            elif isinstance(child.tag, str):
                yield self._begin(child) if child.tag in BLOCKS else ""
                yield from self._pieces(child)
                yield "\n" if child.tag in _BOXES else ""
            yield _written(element, child.tail)

    def _inner(self, table: Any) -> str:
        """Return a table within a text: in a cell on one line, with signs between its cells and its rows."""
        if self.cells_around:
            return in_cell(self.rows(table))
        return "\n".join(part.text for part in self._table(table))

    def _begin(self, paragraph: Any) -> str:
        label = self.lists.label_of(paragraph)
        return f"\n{label} " if label else "\n"

    def _beside(self, element: Any) -> str | None:
        """Return what is read in place of an element that is no part of the text; None if it is one."""
        if element.tag in (_PICTURE_NAME, _PICTURE_TEXT):
            described_so = _described(element)
            self.descriptions += [described_so] if described_so else []
            return described_so
        if element.tag == f"{DRAW}control":
            shown = self.controls.text_of(element)
            return f"{shown} " if shown else ""
        if element.tag in _LEFT_OUT:
            self._leave_out(element)
            return ""
        return None

    def _note(self, note: Any) -> None:
        author = note.findtext(f"{DC}creator") or ""
        lines = (" ".join(self.text(paragraph).split()) for paragraph in note.iter(*BLOCKS))
        text = " ".join(filter(None, lines))
        if text:
            kind = " ".join(filter(None, (_NOTES[note.tag], mark_of(note), author and f"by {author}")))
            self.notes.append(f"{kind}: {text}")

    def _leave_out(self, element: Any) -> None:
        if element.tag == f"{TEXT}ruby-text":
            self.left["reading of a word (ruby), left out"] += 1
        elif element.tag == f"{TEXT}tracked-changes":
            self.left["tracked deletion, left out"] += sum(1 for _ in element.iter(f"{TEXT}deletion"))
            self.left["tracked insertion, read as text"] += sum(1 for _ in element.iter(f"{TEXT}insertion"))
        elif element.tag == f"{OFFICE}forms":
            self.left["form field, left out"] += count_unread(element)

    def rows(self, table: Any) -> Iterator[list[str]]:
        """Yield the rows of a table; a name that is merged stands in each of its columns and rows with other texts.

        Hidden rows with a text are counted.
        """
        covered = Covered()
        for row in _within(table, f"{TABLE}table-row"):
            cells: list[str] = []
            own: list[str] = []
            for cell in row.iterchildren(f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
                is_covered = cell.tag.endswith("covered-table-cell")
                if not is_covered:
                    covered.fill(cells)
                text = self.cell(cell)
                own.extend(filter(None, [text]))
                span = repeated(cell, f"{TABLE}number-columns-spanned")
                deep = repeated(cell, f"{TABLE}number-rows-spanned")
                for _ in range(repeated(cell, f"{TABLE}number-columns-repeated")):
                    at = len(cells)
                    cells.append(covered.at(at) if is_covered and not text else text)
                    if span > 1 or deep > 1:
                        covered.cover(at, span, deep, text)
            covered.fill(cells)
            if len(own) == 1 and set(cells) == set(own):
                cells[1:] = [""] * (len(cells) - 1)  # a title
            if own or not covered.goes_on():
                yield from self._times(row, cells if own else [])
            covered.row += _count(row, f"{TABLE}number-rows-repeated")

    def _times(self, row: Any, cells: list[str]) -> Iterator[list[str]]:
        """Yield a row as often as it is repeated; an empty one once."""
        times = repeated(row, f"{TABLE}number-rows-repeated") if cells else 1
        if cells and row.get(f"{TABLE}visibility") in ("collapse", "filter"):
            self.hidden_rows += times
        for _ in range(times):
            yield list(cells)

    def cell(self, cell: Any) -> str:
        """Return a cell as it is shown; a formula without a value as the formula."""
        self.cells_around += 1
        try:
            text = self._within_cell(cell)
        finally:
            self.cells_around -= 1
        formula = cell.get(f"{TABLE}formula")
        value = value_of(cell)
        if text or value is not None or not formula:
            return text or value or ""
        self.left["formula without a value, shown as the formula"] += 1
        return str(formula).removeprefix("of:")

    def _within_cell(self, cell: Any) -> str:
        blocks = (*BLOCKS, f"{TEXT}list", f"{TEXT}section")
        own = (
            " ".join((self.text(each) if each.tag in blocks else self._inner(each)).split())
            for each in cell
            if each.tag in (*blocks, f"{TABLE}table")
        )
        text = " ".join(filter(None, own))
        shapes = (each for each in cell if isinstance(each.tag, str) and each.tag.startswith(DRAW))
        told = (self.text(shape) if (shown := self._beside(shape)) is None else shown for shape in shapes)
        self.notes.extend(filter(None, (" ".join(drawn.split()) for drawn in told)))
        for annotation in cell.iterchildren(f"{OFFICE}annotation"):
            self._note(annotation)
        return text

    def note_left_out(self, found: Opened) -> None:
        """Add remarks about what was left out."""
        self.remarks.count(self.hidden_rows, "hidden row", "read all the same")
        self.left["embedded object, left out"] += found.objects
        for said, count in self.left.items():
            one, _, what = said.partition(", ")
            if one:
                self.remarks.count(count, one, what)
        for one, number in found.drawn.items():
            for count, what in became(number, self.descriptions if one == PICTURE else ()):
                self.remarks.count(count, one, what)


def _written(element: Any, text: str | None) -> str:
    """Return a text that stands in an element, with a mark for its blanks; none that only sets elements apart."""
    if not text or (not text.strip() and (element.tag in _AROUND or not element.tag.startswith(TEXT))):
        return ""
    return _BLANKS_OF_XML.sub(_BLANK, text)


def _described(part: Any) -> str:
    """Return what is said of a picture, once: its description behind its name."""
    above = part.getparent()
    if part.tag == _PICTURE_NAME and above.find(_PICTURE_TEXT) is not None:
        return ""
    name = above.findtext(_PICTURE_NAME) if part.tag == _PICTURE_TEXT else ""
    return described(": ".join(filter(None, (name, part.text))))


def mark_of(note: Any) -> str:
    """Return the mark of a note as it stands in the text; nothing of a comment, which has none."""
    written = note.find(f"{TEXT}note-citation")
    mark = "".join(written.itertext()).strip() if written is not None else ""
    return f"[{mark}]" if mark else ""


def _within(table: Any, tag: str) -> Iterator[Any]:
    for child in table:
        if child.tag == tag:
            yield child
        elif child.tag != f"{TABLE}table" and isinstance(child.tag, str):
            yield from _within(child, tag)


def repeated(element: Any, name: str) -> int:
    """Return how often something is repeated, within bounds."""
    return min(_count(element, name), MAX_REPEATED)


def _count(element: Any, name: str) -> int:
    written = element.get(name) or "1"
    return int(written) if _DIGITS.fullmatch(written) else 1
