"""The names of the members of a package, where a program wrote them otherwise than the format wants."""

import re
from collections.abc import Iterable
from typing import Final

TYPES: Final = "[Content_Types].xml"
RELATIONS: Final = "_rels/.rels"
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
