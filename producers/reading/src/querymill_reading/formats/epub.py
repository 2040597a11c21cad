"""EPUB: the chapters in the order of the book, each cut into sections."""

import posixpath
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import unquote

from querymill_reading.document import Document, Page, Remarks, Unreadable
from querymill_reading.formats.html import Walk, parsed
from querymill_reading.formats.zipped import checked, xml_of
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.pictures import PICTURE, became
from querymill_reading.rules.proposals import day_in, merged
from querymill_reading.rules.sections import SectionPart, sections

_CONTAINER: Final = "META-INF/container.xml"
_ENCRYPTION: Final = "META-INF/encryption.xml"
#: The type of a chapter that is a drawing.
_DRAWN: Final = "image/svg+xml"
_SVG: Final = "{http://www.w3.org/2000/svg}"
_NAMES: Final = {
    "c": "urn:oasis:names:tc:opendocument:xmlns:container",
    "opf": "http://www.idpf.org/2007/opf",
    "dc": "http://purl.org/dc/elements/1.1/",
}


@dataclass(frozen=True, slots=True)
class _Chapter:
    """A member of a book, its type, and whether it has the table of contents."""

    name: str
    kind: str
    is_contents: bool


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    checked(asked.path, asked.limits, plain_xml=False)
    with zipfile.ZipFile(asked.path) as archive:
        package_at = _package(archive)
        package = xml_of(_member(archive, package_at))
        parts: list[SectionPart] = []
        remarks = Remarks()
        left: Counter[str] = Counter()
        is_encrypted = _ENCRYPTION in archive.namelist()
        for number, chapter in enumerate(_chapters(package, package_at), 1):
            with remarks.part(chapter.name):
                asked.on_page(number)
                try:
                    parts.extend(_parts(_member(archive, chapter.name), chapter, remarks, left))
                except Unreadable as error:
                    raise Unreadable("encrypted" if is_encrypted else error.reason) from error
    for count, what in became(left[PICTURE], [part.text for part in parts]):
        remarks.count(count, PICTURE, what)
    pages = [Page(number, section) for number, section in enumerate(sections(parts), 1)]
    about = {name: _said(package, name) for name in ("title", "creator", "publisher", "language", "date", "identifier")}
    proposed = proposals(remarks, asked.name, [page.text for page in pages[:3]], title=about["title"])
    own = {}
    with remarks.part("date"):
        own = {"published_at": day_in(about["date"])}
    metadata = {"author": about["creator"], "publisher": about["publisher"], "language": about["language"]}
    kept = {name: value for name, value in metadata.items() if value}
    return Document("epub", pages, merged(proposed, own), kept, remarks.noted)


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        return archive.read(name)
    except (KeyError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError) as error:
        raise Unreadable(f"{name} cannot be read: {error}") from error


def _package(archive: zipfile.ZipFile) -> str:
    found = xml_of(_member(archive, _CONTAINER)).xpath("//c:rootfile/@full-path", namespaces=_NAMES)
    if not found:
        raise Unreadable("a broken EPUB file: it names no package")
    return str(found[0])


def _parts(content: bytes, chapter: _Chapter, remarks: Remarks, left: Counter[str]) -> Iterator[SectionPart]:
    """Yield the parts of a chapter; of a drawing its lines, of a picture or a film nothing but a remark.

    The table of contents says nothing that the chapters do not, so what stands beside it is read alone. The pictures
    of a book are counted in ``left``, since each chapter may have some.
    """
    if chapter.kind == _DRAWN:
        texts = (" ".join("".join(text.itertext()).split()) for text in xml_of(content).iter(f"{_SVG}text"))
        parts = [SectionPart(text) for text in texts if text]
        left[PICTURE] += not parts
        yield from parts
    elif "html" in chapter.kind:
        walk = Walk(Remarks(), reads_navigation=not chapter.is_contents)
        root = parsed(content, walk.remarks)
        yield from (part for part in walk.parts(root) if part.text != "\f")
        if chapter.is_contents:
            walk.left.pop("navigation", None)
        left[PICTURE] += walk.left.pop(PICTURE, 0)
        walk.note_left_out()
        for remark in walk.remarks.noted:
            remarks.noted.append(replace(remark, place=": ".join(filter(None, (chapter.name, remark.place)))))
    else:
        remarks.note(f"left out: it is of type {chapter.kind}", chapter.name)


def _chapters(package: Any, package_at: str) -> Iterator[_Chapter]:
    """Yield the chapters in reading order.

    For one of a type that is not read, that which the book has instead of it comes.
    """
    items = {item.get("id"): item for item in package.xpath("//opf:manifest/opf:item", namespaces=_NAMES)}
    folder = posixpath.dirname(package_at)
    for ref in package.xpath("//opf:spine/opf:itemref/@idref", namespaces=_NAMES):
        item = items.get(ref)
        seen: set[str] = set()
        while item is not None and not _is_read(item) and item.get("fallback") in items.keys() - seen:
            seen.add(item.get("fallback"))
            item = items[item.get("fallback")]
        if item is not None:
            where = posixpath.normpath(posixpath.join(folder, unquote(item.get("href") or "")))
            is_contents = "nav" in (item.get("properties") or "").split()
            yield _Chapter(where, item.get("media-type") or "html", is_contents=is_contents)


def _is_read(item: Any) -> bool:
    kind = item.get("media-type") or "html"
    return "html" in kind or kind == _DRAWN


def _said(package: Any, name: str) -> str:
    found = package.xpath(f"//dc:{name}/text()", namespaces=_NAMES)
    return " ".join(str(found[0]).split())[:1_000] if found else ""
