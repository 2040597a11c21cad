"""What an XLSX file holds beside the values of its cells: which cells are one, text boxes, and notes on cells."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from openpyxl.utils import range_boundaries

from querymill_reading.document import Remarks
from querymill_reading.formats.charts import texts_of_diagram, titles_of_chart
from querymill_reading.formats.zipped import xml_of
from querymill_reading.rules.pictures import LEFT_OUT, LEFT_OUT_WHOLE, PICTURE, described

_MERGED: Final = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?ref=[\"']([A-Z]+[0-9]+:[A-Z]+[0-9]+)[\"']")
_END_OF_CELLS: Final = b"sheetData>"
_RELATIONS: Final = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_DRAWING: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_CELL_TEXT: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
#: What is drawn upon a sheet: pictures, and the properties of all that is.
_ON_SHEET: Final = (
    "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}",
    "{http://purl.oclc.org/ooxml/drawingml/spreadsheetDrawing}",
)
_PICTURES: Final = tuple(f"{name}pic" for name in _ON_SHEET)
_DRAWN_PROPERTIES: Final = tuple(f"{name}cNvPr" for name in _ON_SHEET)
#: Bytes read at once, of a part that may be large.
_CHUNK: Final = 1 << 20
#: Merged cells of a sheet, and columns of one, that are looked at.
MAX_MERGED: Final = 10_000
MAX_WIDTH: Final = 200
#: Rows over which the merged cells of a sheet reach together.
MAX_ROWS: Final = 200_000


@dataclass(frozen=True, slots=True)
class Merged:
    """Cells that are one: the first and the last column, from 1, and the first row."""

    left: int
    right: int
    top: int


def merged_cells(sheet: Any) -> dict[int, list[Merged]]:
    """Return the cells that are one, by each row that they reach over."""
    found: dict[int, list[Merged]] = defaultdict(list)
    room = MAX_ROWS
    for match in list(_MERGED.finditer(_after_cells(sheet)))[:MAX_MERGED]:
        left, top, right, bottom = range_boundaries(match[1].decode())
        room -= bottom - top + 1
        if left <= right < left + MAX_WIDTH and top <= bottom and room >= 0:
            for row in range(top, bottom + 1):
                found[row].append(Merged(left, right, top))
    return found


def beside(sheet: Any, remarks: Remarks, place: str) -> Iterator[str]:
    """Yield the text boxes of a sheet, its diagrams, and the notes on its cells under the names of these.

    Of pictures and charts their descriptions and titles are yielded; the figures of charts stand in cells.
    """
    archive = sheet.parent._archive  # noqa: SLF001  # the library does not read these parts
    for kind, member in _related(archive, sheet._worksheet_path.lstrip("/"), ("drawing", "comments")):  # noqa: SLF001
        with remarks.part(f"{place}, {kind}"):
            root = xml_of(archive.read(member))
            if kind == "comments":
                yield from _notes(root)
                continue
            yield from _boxes(root)
            yield from filter(None, (_described(each) for each in root.iter(*_DRAWN_PROPERTIES)))
            pictures = list(root.iter(*_PICTURES))
            named = sum(any(map(_described, each.iter(*_DRAWN_PROPERTIES))) for each in pictures)
            remarks.count(len(pictures) - named, PICTURE, LEFT_OUT_WHOLE, place)
            remarks.count(named, PICTURE, LEFT_OUT, place)
            for _, diagram in _related(archive, member, ("diagramData",)):
                with remarks.part(f"{place}, diagram"):
                    yield from texts_of_diagram(xml_of(archive.read(diagram)))
            charts = list(_related(archive, member, ("chart", "chartEx")))
            titles: list[list[str]] = []
            for _, chart in charts:
                with remarks.part(f"{place}, chart"):
                    titles.append(list(titles_of_chart(xml_of(archive.read(chart)))))
                    yield from titles[-1]
            named = sum(map(bool, titles))
            remarks.count(len(charts) - named, "chart", "left out", place)
            remarks.count(named, "chart", "left out, but for its title", place)


def _described(properties: Any) -> str:
    return described(properties.get("descr") or properties.get("title"))


def _boxes(drawing: Any) -> Iterator[str]:
    for box in drawing.iter(f"{_DRAWING}p"):
        text = "".join(box.itertext(f"{_DRAWING}t")).strip()
        if text:
            yield text


def _notes(comments: Any) -> Iterator[str]:
    for note in comments.iter(f"{_CELL_TEXT}comment"):
        text = " ".join("".join(note.itertext(f"{_CELL_TEXT}t")).split())
        if text:
            yield f"Note on {note.get('ref')}: {text}"


def _after_cells(sheet: Any) -> bytes:
    """Return what stands behind the cells in the part of a sheet, which may be much larger than that."""
    kept = b""
    with sheet.parent._archive.open(sheet._worksheet_path) as part:  # noqa: SLF001  # the library does not read it
        while chunk := part.read(_CHUNK):
            kept += chunk
            at = kept.rfind(_END_OF_CELLS)
            kept = kept[at:] if at >= 0 else kept[-len(_END_OF_CELLS) :]
    return kept


def _related(archive: Any, path: str, kinds: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the parts of some kinds that a part names: the last word of their kind, and the member."""
    folder, name = posixpath.split(path)
    rels = f"{folder}/_rels/{name}.rels"
    if rels not in archive.NameToInfo:
        return
    relations = xml_of(archive.read(rels))
    for relation in relations.iter(_RELATIONS):
        target = relation.get("Target") or ""
        kind = (relation.get("Type") or "").rpartition("/")[2]
        if kind not in kinds or relation.get("TargetMode") == "External":
            continue
        yield kind, target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
