"""Entries in parts: a long document has one entry for each of its parts, and the first has the id of the document.

So a document that was indexed whole is one of a single part, under the id that it always had.
"""

from typing import Final

#: Stands between the id of a document and the number of a part. No id of a document is expected to hold it.
MARK: Final = "\x1f#"


def part_id(document: str, number: int) -> str:
    """Return the id of the entry of a part, numbered from 0."""
    return f"{document}{MARK}{number}" if number else document


def part_of(id_: str) -> tuple[str, int]:
    """Return the document and the number of the part that an entry is of."""
    document, mark, number = id_.rpartition(MARK)
    return (document, int(number)) if mark and number.isascii() and number.isdigit() else (id_, 0)
