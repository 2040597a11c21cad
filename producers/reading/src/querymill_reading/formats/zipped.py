"""What formats that are ZIP archives of XML have in common."""

import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from lxml import etree

from querymill_reading.archives import check_members
from querymill_reading.document import ReadLimits, Unreadable
from querymill_reading.rules.member_names import RELATIONS, TYPES, names_meant, with_targets_as_named

#: A document of Office has no reason to declare entities. The macros and formulas of OpenOffice name a document type.
_DECLARED: Final = (b"<!DOCTYPE", b"<!ENTITY", "<!DOCTYPE".encode("utf-16-le"), "<!ENTITY".encode("utf-16-le"))
_NAMED_ONLY: Final = re.compile(
    rb"<!DOCTYPE\s+[\w:.-]+(?:\s+(?:PUBLIC|SYSTEM)(?:\s+\"[^\"\[<>]*\"|\s+'[^'\[<>]*'){1,2})?\s*>"
)
_LOOKED_AT: Final = 4_096
_STRICT: Final = b"http://purl.oclc.org/ooxml/"
_OFFICE: Final = b"application/vnd.openxmlformats-officedocument."
#: The types of documents with macros, templates and shows, and the one that engines know.
_MAIN_TYPES: Final = {
    "DOCX": (
        re.compile(
            rb"application/vnd\.(?:ms-word|openxmlformats-officedocument\.wordprocessingml)\.[\w.]+\.main\+xml", re.I
        ),
        _OFFICE + b"wordprocessingml.document.main+xml",
    ),
    "PPTX": (
        re.compile(
            rb"application/vnd\.(?:ms-powerpoint|openxmlformats-officedocument\.presentationml)\.[\w.]+\.main\+xml",
            re.I,
        ),
        _OFFICE + b"presentationml.presentation.main+xml",
    ),
}
_OF_PACKAGE: Final = re.compile(
    rb"<[^<>]*(?:Extension=[\"']|PartName=[\"'][^\"'<>]*\.)(?:do[ct]|pp[ts]|pot)[xm][\"'][^<>]*>", re.I
)
_ANY_TYPE: Final = b"application/octet-stream"
_NAMESPACE: Final = re.compile(re.escape(_STRICT) + rb"(\w+)/(\w+)")


def checked(path: Path | BinaryIO, limits: ReadLimits, *, plain_xml: bool = True) -> None:
    """Refuse an archive that is too large inside, and with ``plain_xml`` one whose XML declares entities.

    Raises:
        Unreadable: It is.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            check_members(archive, limits)
            for member in archive.infolist() if plain_xml else ():
                if member.filename.lower().endswith((".xml", ".rels", ".vml")):
                    head = b""
                    # A damaged member is a matter of the engine, which may not need it.
                    with suppress(zipfile.BadZipFile, zlib.error, EOFError), archive.open(member) as file:
                        head = _NAMED_ONLY.sub(b"", file.read(_LOOKED_AT))
                    if any(declared in head for declared in _DECLARED):
                        raise Unreadable(f"{member.filename} declares XML entities")
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise Unreadable(f"a broken file: {error}") from error


def transitional(package: Path | BinaryIO, kind: str = "") -> str | BinaryIO:
    """Return what an engine can open: the package, or a copy of it with the names that the engine knows.

    "Strict Open XML", in which Office can save too, says the same under other namespaces. Documents with macros,
    templates and shows say the same as a document of their ``kind``, but are declared as something else.
    """
    with zipfile.ZipFile(package) as archive:
        meant = members_of(archive)
        held = {name: member for member, name in meant.items()}
        is_strict = RELATIONS in held and _STRICT in archive.read(held[RELATIONS])
        types = archive.read(held[TYPES]) if TYPES in held else b""
        declared = _declared(types, kind)
        is_named_well = all(member == name for member, name in meant.items())
        mended = _mended_relations(archive, meant)
        if is_named_well and not is_strict and not mended and declared == types:
            return str(package) if isinstance(package, Path) else package
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as copy:
            for member, name in meant.items():
                content = declared if name == TYPES else mended.get(name) or archive.read(member)
                is_xml = is_strict and name.lower().endswith((".xml", ".rels"))
                copy.writestr(name, _NAMESPACE.sub(_transitional_name, content) if is_xml else content)
    written.seek(0)
    return written


def _mended_relations(archive: zipfile.ZipFile, meant: Mapping[str, str]) -> dict[str, bytes]:
    """Return the relations that name members in another case than these have: to a package, they are the same."""
    alike = Counter(name.lower() for name in meant.values())
    names = {name.lower(): name for name in meant.values() if alike[name.lower()] == 1}
    mended: dict[str, bytes] = {}
    for member, name in meant.items():
        if name.lower().endswith(".rels"):
            with suppress(zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
                content = archive.read(member)
                if (written := with_targets_as_named(content, name, names)) != content:
                    mended[name] = written
    return mended


def members_of(archive: zipfile.ZipFile) -> dict[str, str]:
    """Return the members of a package, each with the name that is meant by its own."""
    members = archive.namelist()
    types = next((name for name, meant in names_meant(members).items() if meant == TYPES), None)
    return names_meant(members, archive.read(types) if types is not None else b"")


def _declared(types: bytes, kind: str) -> bytes:
    """Return the types of members, with the type of a plain document for the main one."""
    known = _MAIN_TYPES.get(kind)
    if known is None:
        return types
    # A document within this one may have the type of a main part, though it is a package and no XML.
    types = _OF_PACKAGE.sub(lambda entry: known[0].sub(_ANY_TYPE, entry[0]), types)
    return known[0].sub(known[1], types)


def _transitional_name(found: re.Match[bytes]) -> bytes:
    part = re.sub(rb"([a-z])([A-Z])", lambda case: case[1] + b"-" + case[2].lower(), found[2])
    return (
        b"http://schemas.openxmlformats.org/"
        + found[1]
        + b"/2006/"
        + (part if part.endswith(b"-properties") else found[2])
    )


def xml_of(raw: bytes) -> Any:
    """Parse XML without entities, a document type or the network.

    Raises:
        Unreadable: It is not well-formed.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        return etree.fromstring(raw, parser)
    except etree.XMLSyntaxError as error:
        raise Unreadable(f"broken XML: {str(error)[:200]}") from error


def recovered(raw: bytes) -> Any:
    """Parse as much as possible of XML that may be broken; the root is ``lost`` if that is nothing."""
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(raw, parser)
    except etree.XMLSyntaxError:
        root = None
    return etree.Element("lost") if root is None else root
