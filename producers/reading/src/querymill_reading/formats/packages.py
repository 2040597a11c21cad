"""Packages of Office files: what an engine refuses because of one damaged member is opened without that member."""

import io
import posixpath
import zipfile
import zlib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

from lxml import etree

from querymill_reading.document import Unreadable, reason_of
from querymill_reading.formats.zipped import recovered, transitional
from querymill_reading.rules.member_names import member_of

T = TypeVar("T")

_TYPES: Final = "[Content_Types].xml"
_TYPE: Final = "{http://schemas.openxmlformats.org/package/2006/content-types}"
_RELATION: Final = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_ANY_TYPE: Final = "application/octet-stream"
#: Bytes read at once: so many are lost before the place where a member is damaged.
_PIECE: Final = 4_096


def opened_by(engine: Callable[[str | BinaryIO], T], path: Path | BinaryIO, name: str) -> tuple[T, dict[str, str]]:
    """Open a package with an engine, and return what is damaged in it, by member.

    Raises:
        Unreadable: The engine refuses it without what is damaged, too.
    """
    try:
        return engine(transitional(path, name)), {}
    except (MemoryError, ImportError):
        raise
    except Exception as error:  # noqa: BLE001  # what an engine raises of a damaged file is no part of its interface
        first = error
    mended, damaged = _mended(path)
    try:
        if damaged:
            return engine(transitional(mended, name)), damaged
    except (MemoryError, ImportError):
        raise
    except Exception:  # noqa: BLE001, S110  # the first reason is told below
        pass
    raise Unreadable(f"a broken {name} file: {reason_of(first)}") from first


def _mended(path: Path | BinaryIO) -> tuple[BinaryIO, dict[str, str]]:
    """Copy a package with what can be read of each member, and return why some were not read whole."""
    damaged: dict[str, str] = {}
    written = io.BytesIO()
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as copy:
        names = [name for name in dict.fromkeys(archive.namelist()) if not name.endswith("/")]
        for name in names:
            content, why = content_of(archive, name)
            if name.lower().endswith((".xml", ".rels")):
                content, why_broken = _well_formed(content)
                why = why or why_broken
            if why:
                damaged[name] = why
            if name == _TYPES:
                content = _with_types(content, names, damaged)
            elif name.lower().endswith(".rels"):
                content = _within(content, name, names, damaged)
            copy.writestr(name, content)
    written.seek(0)
    return written, damaged


def content_of(archive: zipfile.ZipFile, name: str) -> tuple[bytes, str]:
    """Return a member as far as it can be read, and why not farther."""
    pieces: list[bytes] = []
    try:
        with archive.open(name) as stream:
            while piece := stream.read(_PIECE):
                pieces.append(piece)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        return b"".join(pieces), reason_of(error)
    return b"".join(pieces), ""


def _well_formed(content: bytes) -> tuple[bytes, str]:
    """Return XML that every parser reads, and what was wrong with it."""
    try:
        etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
    except etree.XMLSyntaxError as error:
        return _recovered(content), f"broken XML: {' '.join(str(error).split())[:200]}"
    return content, ""


def _recovered(content: bytes) -> bytes:
    """Return as much of XML as can be read again: what is recovered may have names that nothing declares."""
    found: bytes = etree.tostring(recovered(content))
    try:
        etree.fromstring(found)
    except etree.XMLSyntaxError:
        return b"<lost/>"
    return found


def _with_types(content: bytes, names: Collection[str], damaged: dict[str, str]) -> bytes:
    """Give a type to the members that have none, such as a picture of a kind that is not declared."""
    root = recovered(content)
    known = {(each.get("Extension") or "").lower() for each in root.iter(f"{_TYPE}Default")}
    named = {(each.get("PartName") or "").lower() for each in root.iter(f"{_TYPE}Override")}
    for name in names:
        ending = posixpath.basename(name).rpartition(".")[2].lower()
        if name != _TYPES and ending not in known and f"/{name}".lower() not in named:
            etree.SubElement(root, f"{_TYPE}Default", Extension=ending, ContentType=_ANY_TYPE)
            known.add(ending)
            damaged.setdefault(name, "its type is not declared")
    return bytes(etree.tostring(root))


def _within(content: bytes, name: str, names: Collection[str], damaged: dict[str, str]) -> bytes:
    """Leave out the relations to members that the package lacks."""
    root = recovered(content)
    known = {each.lower() for each in names}
    for relation in list(root.iter(_RELATION)):
        if relation.get("TargetMode") == "External":
            continue
        where = member_of(relation.get("Target") or "", name)
        if where.lower() not in known:
            damaged.setdefault(where[:200], f"{name} names it, but the file lacks it")
            relation.getparent().remove(relation)
    return bytes(etree.tostring(root))
