"""EPUB: the chapters in the order of the book, each cut into sections."""

import posixpath
import zipfile
import zlib
from typing import Any, Final
from urllib.parse import unquote

from querymill_reading.document import Document, Page, Remarks, Unreadable
from querymill_reading.formats.html import Walk, parsed
from querymill_reading.formats.zipped import checked, xml_of
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.proposals import day_in, merged
from querymill_reading.rules.sections import SectionPart, sections

_CONTAINER: Final = "META-INF/container.xml"
_ENCRYPTION: Final = "META-INF/encryption.xml"
_NAMES: Final = {
    "c": "urn:oasis:names:tc:opendocument:xmlns:container",
    "opf": "http://www.idpf.org/2007/opf",
    "dc": "http://purl.org/dc/elements/1.1/",
}


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    checked(asked.path, asked.limits, plain_xml=False)
    with zipfile.ZipFile(asked.path) as archive:
        package_at = _package(archive)
        package = xml_of(_member(archive, package_at))
        parts: list[SectionPart] = []
        remarks = Remarks()
        is_encrypted = _ENCRYPTION in archive.namelist()
        for number, name in enumerate(_chapters(package, package_at), 1):
            with remarks.part(name):
                asked.on_page(number)
                walk = Walk(Remarks())
                try:
                    root = parsed(_member(archive, name))
                except Unreadable as error:
                    raise Unreadable("encrypted" if is_encrypted else error.reason) from error
                parts.extend(part for part in walk.parts(root) if part.text != "\f")
                for remark in walk.remarks.noted:
                    remarks.note(remark.reason, name)
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


def _chapters(package: Any, package_at: str) -> list[str]:
    """Return the members that are text, in reading order. The table of contents is none."""
    items = {
        item.get("id"): item
        for item in package.xpath("//opf:manifest/opf:item", namespaces=_NAMES)
        if "nav" not in (item.get("properties") or "").split()
    }
    order = [items.get(ref) for ref in package.xpath("//opf:spine/opf:itemref/@idref", namespaces=_NAMES)]
    folder = posixpath.dirname(package_at)
    return [
        posixpath.normpath(posixpath.join(folder, unquote(item.get("href") or "")))
        for item in order
        if item is not None and "html" in (item.get("media-type") or "html")
    ]


def _said(package: Any, name: str) -> str:
    found = package.xpath(f"//dc:{name}/text()", namespaces=_NAMES)
    return " ".join(str(found[0]).split())[:1_000] if found else ""
