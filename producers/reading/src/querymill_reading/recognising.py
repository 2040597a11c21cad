"""Which format a file has: by its content, and where that says nothing by the ending of its name."""

import re
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Final

from querymill_reading.archives import check_members
from querymill_reading.document import ReadLimits, Unreadable
from querymill_reading.formats import BY_NAME, BY_SUFFIX, DocumentFormat
from querymill_reading.rules.beginnings import HEAD, LOOKED_AT, OBJECT, looks_like_text
from querymill_reading.rules.member_names import RELATIONS, TYPES, names_meant

_BLANKS: Final = b"\xef\xbb\xbf \t\r\n"
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HTML: Final = re.compile(
    rb"\s*+(?:(?><!--.*?-->)\s*+)*+<(?:!doctype\s+html|html|head|body|\?xml[^>]*\?>.{0,2000}<html)", re.I | re.S
)
#: A member that only files of a format have.
_INSIDE: Final[Mapping[str, str]] = {
    "word/document.xml": "docx",
    "ppt/presentation.xml": "pptx",
    "xl/workbook.xml": "xlsx",
    "META-INF/container.xml": "epub",
}
#: The types of members name the main one wherever it is.
_MAIN: Final = (
    (re.compile(rb"(?:ms-word|wordprocessingml)\.[\w.]+\.main\+xml", re.I), "docx"),
    (re.compile(rb"(?:ms-powerpoint|presentationml)\.[\w.]+\.main\+xml", re.I), "pptx"),
    (re.compile(rb"(?:ms-excel|spreadsheetml)\.(?!sheet\.binary)[\w.]+\.main\+xml", re.I), "xlsx"),
)
MAX_TYPES_BYTES: Final = 1 << 20
#: What packages of Office were before its first version that had them was released.
_BEFORE_RELEASE: Final = b"http://schemas.microsoft.com/package/2005/"
#: A packed OpenDocument file says what it is in its first member, and its list of members says it too; a flat one
#: says so in its root.
_MIMETYPE: Final = "mimetype"
_MANIFEST: Final = "META-INF/manifest.xml"
_OPEN_DOCUMENT: Final = re.compile(rb"application/vnd\.oasis\.opendocument\.(text|spreadsheet|presentation)")
_OF_OPEN_DOCUMENT: Final = {b"text": "odt", b"spreadsheet": "ods", b"presentation": "odp"}
#: What a mail begins with: fields, one of which every mail has.
_MAIL: Final = re.compile(
    rb"(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*)*(?:From|Received|Return-Path|Delivered-To):[ \t]", re.I
)
_ANOTHER_FIELD: Final = re.compile(rb"^(?:Date|Subject|To|Message-ID|MIME-Version|Received):[ \t]", re.I | re.M)
#: A part that only mails of Outlook have, as the names of parts are written.
_OF_OUTLOOK: Final = "__properties_version1.0".encode("utf-16-le")
#: Formats of plain letters that a name tells, where the content says nothing else.
_BY_NAME: Final = ("html", "markdown", "text", "csv", "json", "eml")
#: What a file is that looks like a text and is none that a person reads.
_NO_TEXT: Final = ((b"%!PS", "PostScript"), (b"-----BEGIN ", "a key or a certificate"))
#: What XML is that a person would not read as it is written, by its first elements.
_NO_TEXT_IN_XML: Final = (
    (re.compile(rb"<\?mso-application|schemas-microsoft-com:office:(?:spreadsheet|word)|office/word/2003/wordml"),
     "a document of Office 2003 in XML: save it as .docx or .xlsx"),
    (re.compile(rb"<pkg:package\b"), "a Word file in one piece of XML: save it as .docx"),
    (re.compile(rb"<svg\b"), "a drawing in SVG, which is not read"),
)  # fmt: skip
#: What a ZIP archive is that is no document of ours, by a member.
_OTHER_ARCHIVES: Final = (
    ("xl/workbook.bin", "a binary workbook (XLSB): save it as .xlsx"),
    ("visio/document.xml", "a drawing of Visio"),
    ("Index/Document.iwa", "a document of Apple's Pages, Numbers or Keynote: export it"),
    ("Index.zip", "a document of Apple's Pages, Numbers or Keynote: export it"),
    ("META-INF/MANIFEST.MF", "a Java archive"),
)


def recognise(path: Path, name: str, limits: ReadLimits) -> DocumentFormat:
    """Return the format of a file.

    Raises:
        Unreadable: It has none of ours; the message says what it is, as far as that is known.
    """
    with path.open("rb") as file:
        head = file.read(LOOKED_AT)
    if not head:
        raise Unreadable("the file is empty (0 bytes)")
    is_named_pdf = PurePath(name).suffix.lower() == ".pdf"
    if HEAD in head[:1024] or (is_named_pdf and OBJECT.search(head)):
        return BY_NAME["pdf"]
    if head.startswith(b"PK\x03\x04"):
        return _of_zip(path, limits)
    if head.startswith(_OLE):
        return _of_ole(path)
    if head.lstrip(_BLANKS).startswith(b"{\\rtf"):
        return BY_NAME["rtf"]
    return _of_text(head, BY_SUFFIX.get(PurePath(name).suffix.lower()))


def _of_text(head: bytes, by_name: DocumentFormat | None) -> DocumentFormat:
    if b"<office:document" in head and (flat := _OPEN_DOCUMENT.search(head)):
        return BY_NAME[_OF_OPEN_DOCUMENT[flat[1]]]
    if what := next((what for beginning, what in _NO_TEXT if head.startswith(beginning)), ""):
        raise Unreadable(f"it is {what}, which is not read")
    if by_name is not None and by_name.name in _BY_NAME:
        return by_name
    if _HTML.match(head.removeprefix(b"\xef\xbb\xbf")):
        return BY_NAME["html"]
    if _is_mail(head):
        return BY_NAME["eml"]
    is_xml = head.lstrip(_BLANKS).startswith((b"<?xml", b"<svg"))
    if is_xml and (why := next((why for mark, why in _NO_TEXT_IN_XML if mark.search(head)), "")):
        raise Unreadable(f"it is {why}")
    if by_name is not None:
        raise Unreadable(f"it is no {by_name.name.upper()} file: its beginning is another")
    return _of_letters(head)


def _of_letters(head: bytes) -> DocumentFormat:
    if looks_like_text(head):
        return BY_NAME["markdown" if head.startswith((b"---\n", b"# ")) else "text"]
    raise Unreadable("its format is none that can be read")


def _is_mail(head: bytes) -> bool:
    return not head.startswith(b"From ") and bool(_MAIL.match(head) and _ANOTHER_FIELD.search(head))


def _of_zip(path: Path, limits: ReadLimits) -> DocumentFormat:
    try:
        with zipfile.ZipFile(path) as archive:
            check_members(archive, limits)
            names = {name: member for member, name in names_meant(archive.namelist()).items()}
            types, relations, said, listed = (
                _beginning_of(archive, names.get(name)) for name in (TYPES, RELATIONS, _MIMETYPE, _MANIFEST)
            )
    except (zipfile.BadZipFile, NotImplementedError, ValueError, RuntimeError, EOFError) as error:
        raise Unreadable(f"a broken ZIP archive: {error}") from error
    if _BEFORE_RELEASE in relations:
        raise Unreadable("written by a test version of Office 2007, in a form that no released version has")
    for member, name in _INSIDE.items():
        if member in names:
            return BY_NAME[name]
    for written, name in _MAIN:
        if written.search(types):
            return BY_NAME[name]
    if kind := _OPEN_DOCUMENT.match(said) or _OPEN_DOCUMENT.search(listed):
        return BY_NAME[_OF_OPEN_DOCUMENT[kind[1]]]
    why = next((why for member, why in _OTHER_ARCHIVES if member in names), "a ZIP archive that is no document")
    raise Unreadable(why)


def _beginning_of(archive: zipfile.ZipFile, member: str | None) -> bytes:
    """Return the first bytes of a member; nothing of one that is missing or damaged, as another may tell the format."""
    if member is not None:
        with suppress(zipfile.BadZipFile, zlib.error, EOFError):
            return archive.open(member).read(MAX_TYPES_BYTES)
    return b""


def _of_ole(path: Path) -> DocumentFormat:
    with path.open("rb") as file:
        raw = file.read(8 << 20)
    if "EncryptedPackage".encode("utf-16-le") in raw:
        raise Unreadable("encrypted with a password")
    if _OF_OUTLOOK in raw:
        return BY_NAME["msg"]
    raise Unreadable("an Office file of before 2007: save it as .docx, .xlsx or .pptx")
