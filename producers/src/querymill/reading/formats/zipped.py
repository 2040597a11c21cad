"""What formats that are ZIP archives of XML have in common."""

import zipfile
from pathlib import Path
from typing import Any, Final

from lxml import etree

from querymill.reading.archives import check_members
from querymill.reading.document import Limits, Unreadable

#: A document of Office has no reason to declare a document type, and so no entities.
_DECLARED: Final = (b"<!DOCTYPE", b"<!ENTITY", "<!DOCTYPE".encode("utf-16-le"), "<!ENTITY".encode("utf-16-le"))
_LOOKED_AT: Final = 4_096


def checked(path: Path, limits: Limits, *, plain_xml: bool = True) -> None:
    """Refuse an archive that is too large inside, and with ``plain_xml`` one whose XML declares entities.

    Raises:
        Unreadable: It is.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            check_members(archive, limits)
            for member in archive.infolist() if plain_xml else ():
                if member.filename.lower().endswith((".xml", ".rels", ".vml")):
                    with archive.open(member) as file:
                        head = file.read(_LOOKED_AT)
                    if any(declared in head for declared in _DECLARED):
                        raise Unreadable(f"{member.filename} declares XML entities")
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise Unreadable(f"a broken file: {error}") from error


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
