"""Compare the letters of what was read of a document with those in its XML, which no reader of ours has touched."""

import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from lxml import etree

from querymill_reading.document import Document

#: A part of a package that is larger is not compared.
MAX_PART_BYTES: Final = 64 << 20
#: Parts of packages with text that a person sees.
_OF_WORD: Final = re.compile(r"word/(?:document\d*|footnotes\d*|endnotes\d*|header\d*|footer\d*|comments)\.xml")
_OF_SLIDES: Final = re.compile(r"ppt/(?:slides|notesSlides|diagrams)/(?:slide|notesSlide|data)\d*\.xml")
_OF_SHEETS: Final = re.compile(r"xl/(?:worksheets/[^/]+|drawings/drawing\d+|comments\d*)\.xml")
_SHARED: Final = "xl/sharedStrings.xml"
_OF_CHAPTERS: Final = re.compile(r".*\.x?html?")
#: Elements with text in Office's XML, by their local names, and those below which it is another form of the same, how
#: a word is pronounced, deleted, a number or a date that a program sets, or no text.
_TEXTS: Final = ("t",)
_PASSED_OVER: Final = (
    "Fallback", "rPh", "rt", "rp", "del", "moveFrom", "fld", "ruby-text", "tracked-changes", "date", "note-citation",
    "binary-data", "event-listeners", "script", "style", "head", "nav",
)  # fmt: skip
_BODY: Final = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}body"
_UNREADABLE: Final = (zipfile.BadZipFile, zlib.error, OSError, ValueError, RuntimeError, EOFError, etree.LxmlError)


def letters_lost(path: Path, document: Document) -> tuple[int, int]:
    """Return how many letters and digits the XML of a file has, and how many of them were not read.

    Of each letter as many must be in what was read as are in the XML, wherever they stand. Files of other kinds have
    none.
    """
    raw: Counter[str] = Counter()
    for text in _texts(path, document.format):
        raw.update(text)
    read = Counter("".join(page.text for page in document.pages))
    wanted = {letter: count for letter, count in raw.items() if letter.isalnum()}
    return sum(wanted.values()), sum(max(count - read[letter], 0) for letter, count in wanted.items())


def _texts(path: Path, format_: str) -> Iterator[str]:
    if format_ in ("odt", "ods", "odp") and not zipfile.is_zipfile(path):
        yield from _of_body(path.read_bytes())
        return
    if format_ not in _PARTS:
        return
    with zipfile.ZipFile(path) as archive:
        yield from _PARTS[format_](archive)


def _parts(archive: zipfile.ZipFile, names: re.Pattern[str]) -> Iterator[bytes]:
    for member in archive.infolist():
        if names.fullmatch(member.filename) and member.file_size <= MAX_PART_BYTES:
            try:
                yield archive.read(member)
            except _UNREADABLE:
                continue


def _of_office(names: re.Pattern[str]) -> Callable[[zipfile.ZipFile], Iterator[str]]:
    def texts(archive: zipfile.ZipFile) -> Iterator[str]:
        for part in _parts(archive, names):
            for element in _within(_tree(part)):
                if _local(element) in _TEXTS:
                    yield element.text or ""

    return texts


def _of_book(archive: zipfile.ZipFile) -> Iterator[str]:
    """Yield the texts of cells, as often as cells have them, and those of boxes and notes; no figures."""
    shared = next(_parts(archive, re.compile(re.escape(_SHARED))), b"")
    strings = [
        "".join(element.text or "" for element in _within(entry) if _local(element) == "t")
        for entry in _tree(shared).iter("{*}si")
    ]
    yield from _of_office(_OF_SHEETS)(archive)
    for part in _parts(archive, _OF_SHEETS):
        for cell in _tree(part).iter("{*}c"):
            at = cell.findtext("{*}v") or ""
            if cell.get("t") == "s" and at.isdecimal() and int(at) < len(strings):
                yield strings[int(at)]


def _of_open_document(archive: zipfile.ZipFile) -> Iterator[str]:
    for part in _parts(archive, re.compile(re.escape("content.xml"))):
        yield from _of_body(part)


def _of_body(part: bytes) -> Iterator[str]:
    for body in _tree(part).iter(_BODY):
        yield from _all_texts(body)


def _of_chapters(archive: zipfile.ZipFile) -> Iterator[str]:
    for part in _parts(archive, _OF_CHAPTERS):
        yield from _all_texts(_tree(part))


def _all_texts(element: Any) -> Iterator[str]:
    for each in _within(element):
        yield each.text or ""
    for each in element.iterdescendants():
        if not any(_local(above) in _PASSED_OVER for above in each.iterancestors()):
            yield each.tail or ""


def _within(element: Any) -> Iterator[Any]:
    """Yield an element and what is below it, without what is passed over."""
    held = [element]
    while held:
        each = held.pop()
        if _local(each) not in _PASSED_OVER:
            yield each
            held.extend(child for child in each if isinstance(child.tag, str))


def _local(element: Any) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _tree(part: bytes) -> Any:
    try:
        root = etree.fromstring(part, etree.XMLParser(recover=True, resolve_entities=False, no_network=True))
    except _UNREADABLE:
        root = None
    return etree.Element("lost") if root is None else root


_PARTS: Final[dict[str, Callable[[zipfile.ZipFile], Iterator[str]]]] = {
    "docx": _of_office(_OF_WORD),
    "pptx": _of_office(_OF_SLIDES),
    "xlsx": _of_book,
    "odt": _of_open_document,
    "ods": _of_open_document,
    "odp": _of_open_document,
    "epub": _of_chapters,
}
