"""The names of the members of a package, where a program wrote them otherwise than the format wants."""

import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Final

TYPES: Final = "[Content_Types].xml"
RELATIONS: Final = "_rels/.rels"
_TARGET: Final = re.compile(rb"(\bTarget\s*=\s*)([\"'])([^\"']+)\2")
_PART: Final = re.compile(rb"PartName\s*=\s*[\"']/([^\"']+)[\"']")


def names_meant(members: Iterable[str], types: bytes = b"") -> dict[str, str]:
    """Return the name that is meant by that of each member, with slashes and in the case that the package declares.

    Some programs of Windows write backslashes. A package compares names without regard to case, its readers
    do not.

    Args:
        members: The names as they are.
        types: What the package says of its members, whose names it repeats.
    """
    declared = [match[1].decode(errors="replace") for match in _PART.finditer(types)]
    known = {name.lower(): name for name in (*declared, TYPES, RELATIONS)}
    plain = {name: name.replace("\\", "/").lstrip("/") for name in members}
    return {name: known.get(written.lower(), written) for name, written in plain.items()}


def member_of(target: str, relations: str) -> str:
    """Return the member that a relation means by its target, which may be given from the part that has the relations.

    >>> member_of("../media/a.png", "ppt/slides/_rels/slide1.xml.rels"), member_of("/word/a.xml", RELATIONS)
    ('ppt/media/a.png', 'word/a.xml')
    """
    if target.startswith("/"):
        return target.lstrip("/")
    return posixpath.normpath(posixpath.join(posixpath.dirname(posixpath.dirname(relations)), target))


def with_targets_as_named(content: bytes, relations: str, names: Mapping[str, str]) -> bytes:
    """Return relations of a package whose targets have the case of the members that they mean.

    Args:
        content: The relations.
        relations: The member that has them.
        names: The members, each by its name in small letters.
    """

    def as_named(found: re.Match[bytes]) -> bytes:
        meant = member_of(found[3].decode(errors="replace"), relations)
        named = names.get(meant.lower(), meant)
        return found[0] if named == meant else found[1] + found[2] + b"/" + named.encode() + found[2]

    return _TARGET.sub(as_named, content)
