"""DOCX: the parts beside the body: its footnotes and endnotes with their marks, and what the edges of pages show."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from docx.document import Document as Opened
from docx.oxml.ns import qn

from querymill_reading.document import Remarks
from querymill_reading.formats.docx_text import PARAGRAPH, text_of
from querymill_reading.formats.zipped import xml_of
from querymill_reading.rules.list_numbers import shown
from querymill_reading.rules.sections import SectionPart

_RELATED: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_NOTES: Final = ("footnotes", "endnotes")
#: The mark of a note in the text, the note, and the form of its number that Word takes if nothing is said.
_MARKS: Final = {
    "footnotes": (qn("w:footnoteReference"), qn("w:footnote"), "decimal"),
    "endnotes": (qn("w:endnoteReference"), qn("w:endnote"), "lowerRoman"),
}
_DELETED: Final = (qn("w:del"), qn("w:moveFrom"))
_OFF: Final = ("0", "false", "off")
#: The edges of pages, in the order in which they are read.
_EDGES: Final = ("header", "footer")


def related(opened: Opened, kinds: str | tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Yield the kind and the content of the parts of some kinds that belong to the document."""
    for relation in opened.part.rels.values():
        if not relation.is_external and relation.reltype.endswith(kinds):
            yield relation.reltype.rpartition("/")[2], relation.target_part.blob


def mark_notes(opened: Opened) -> dict[tuple[str, str], str]:
    """Write the marks of notes into the body, where they stand, and return them by the kind and the id of the note.

    A mark that the author writes himself stands in the text already.
    """
    marks: dict[tuple[str, str], str] = {}
    counts: Counter[str] = Counter()
    for kind, (reference, _, form) in _MARKS.items():
        for each in opened.element.body.iter(reference):
            is_own = (each.get(qn("w:customMarkFollows")) or "0") not in _OFF
            if is_own or next(each.iterancestors(*_DELETED), None) is not None:
                continue
            name = (kind, each.get(qn("w:id")) or "")
            if name not in marks:
                counts[kind] += 1
                marks[name] = f"[{shown(counts[kind], form)}]"
            each.text = marks[name]
    return marks


def notes(opened: Opened, marks: dict[tuple[str, str], str], remarks: Remarks) -> Iterator[SectionPart]:
    """Yield the footnotes and endnotes, each behind its mark."""
    for kind, content in related(opened, _NOTES):
        with remarks.part(kind):
            for note in xml_of(content).iter(_MARKS[kind][1]):
                mark = marks.get((kind, note.get(qn("w:id")) or ""), "")
                for paragraph in note.iter(PARAGRAPH):
                    if text := text_of(paragraph).strip():
                        yield SectionPart(f"{mark} {text}".strip())
                        mark = ""


def shown_edges(opened: Opened) -> Iterator[tuple[str, bytes]]:
    """Yield the headers and footers that some page shows, each once: ``header`` or ``footer``, and the content.

    One of even pages is shown if the document tells them from odd ones, one of first pages in sections that have such a
    page. A section has those of the section before it in place of its own.
    """
    settings = next((xml_of(content) for _, content in related(opened, "/settings")), None)
    has_even = settings is not None and _is_on(settings.find(qn("w:evenAndOddHeaders")))
    held: dict[tuple[str, str], str] = {}
    found: dict[tuple[str, str], None] = {}
    for section in opened.element.iter(qn("w:sectPr")):
        if section.getparent().tag == qn("w:sectPrChange"):
            continue
        held.update(_edges_of(section))
        is_shown = {"default": True, "even": has_even, "first": _is_on(section.find(qn("w:titlePg")))}
        found.update(dict.fromkeys((edge, name) for (edge, kind), name in held.items() if is_shown.get(kind)))
    for edge, name in sorted(found, key=lambda each: _EDGES.index(each[0])):
        relation = opened.part.rels.get(name)
        if relation is not None and not relation.is_external:
            yield edge, relation.target_part.blob


def _edges_of(section: Any) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the headers and footers that a section names for itself: which, of which pages, and its relation."""
    for edge in _EDGES:
        for each in section.iterchildren(qn(f"w:{edge}Reference")):
            yield (edge, each.get(qn("w:type")) or "default"), each.get(_RELATED) or ""


def _is_on(switch: Any) -> bool:
    return switch is not None and (switch.get(qn("w:val")) or "1") not in _OFF
