"""Which format a file has: by its content, and where that says nothing by the ending of its name."""

import re
import zipfile
from pathlib import Path, PurePath
from typing import Final

from querymill_reading.archives import check_members
from querymill_reading.document import ReadLimits, Unreadable
from querymill_reading.formats import BY_NAME, BY_SUFFIX, DocumentFormat
from querymill_reading.rules.beginnings import LOOKED_AT, looks_like_text

_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HTML: Final = re.compile(
    rb"\s*+(?:(?><!--.*?-->)\s*+)*+<(?:!doctype\s+html|html|head|body|\?xml[^>]*\?>.{0,2000}<html)", re.I | re.S
)
#: A member that only files of a format have.
_INSIDE: Final = {
    "word/document.xml": "docx",
    "ppt/presentation.xml": "pptx",
    "xl/workbook.xml": "xlsx",
    "META-INF/container.xml": "epub",
}
#: Where the types of members stand, which name the main one wherever it is.
_TYPES: Final = "[Content_Types].xml"
_MAIN: Final = {
    b"wordprocessingml.document.main+xml": "docx",
    b"presentationml.presentation.main+xml": "pptx",
    b"spreadsheetml.sheet.main+xml": "xlsx",
}
MAX_TYPES_BYTES: Final = 1 << 20


def recognise(path: Path, name: str, limits: ReadLimits) -> DocumentFormat:
    """Return the format of a file.

    Raises:
        Unreadable: It has none of ours; the message says what it is, as far as that is known.
    """
    with path.open("rb") as file:
        head = file.read(LOOKED_AT)
    if not head:
        raise Unreadable("the file is empty (0 bytes)")
    if b"%PDF-" in head[:1024]:
        return BY_NAME["pdf"]
    if head.startswith(b"PK\x03\x04"):
        return _of_zip(path, limits)
    if head.startswith(_OLE):
        raise Unreadable(_why_not_ole(path))
    return _of_text(head, BY_SUFFIX.get(PurePath(name).suffix.lower()))


def _of_text(head: bytes, by_name: DocumentFormat | None) -> DocumentFormat:
    if by_name is not None and by_name.name in ("html", "markdown", "text"):
        return by_name
    if _HTML.match(head.removeprefix(b"\xef\xbb\xbf")):
        return BY_NAME["html"]
    if by_name is not None:
        raise Unreadable(f"it is no {by_name.name.upper()} file: its beginning is another")
    if looks_like_text(head):
        return BY_NAME["markdown" if head.startswith((b"---\n", b"# ")) else "text"]
    raise Unreadable("its format is none that can be read")


def _of_zip(path: Path, limits: ReadLimits) -> DocumentFormat:
    try:
        with zipfile.ZipFile(path) as archive:
            check_members(archive, limits)
            names = set(archive.namelist())
            types = archive.open(_TYPES).read(MAX_TYPES_BYTES) if _TYPES in names else b""
    except (zipfile.BadZipFile, NotImplementedError, ValueError, RuntimeError, EOFError) as error:
        raise Unreadable(f"a broken ZIP archive: {error}") from error
    for member, name in _INSIDE.items():
        if member in names:
            return BY_NAME[name]
    for written, name in _MAIN.items():
        if written in types:
            return BY_NAME[name]
    raise Unreadable("a ZIP archive that is no document")


def _why_not_ole(path: Path) -> str:
    with path.open("rb") as file:
        raw = file.read(8 << 20)
    if "EncryptedPackage".encode("utf-16-le") in raw:
        return "encrypted with a password"
    return "an Office file of before 2007: save it as .docx, .xlsx or .pptx"
