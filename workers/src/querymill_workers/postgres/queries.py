"""Read the named statements of a store's ``.sql`` files; each store loads its own."""

import re
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Final, LiteralString

_HEADING = re.compile(r"^-- (?P<name>[a-z_]+): .*$", re.MULTILINE)


def statements(package: str, *files: str) -> Mapping[str, LiteralString]:
    """Return the statements of files of a package by name; a heading ``-- name: what it does`` begins each.

    Raises:
        ValueError: A name is given twice.
    """
    found: dict[str, LiteralString] = {}
    for file in files:
        for name, statement in _statements((resources.files(package) / file).read_text(encoding="utf-8")):
            if name in found:
                raise ValueError(f"{package}/{file}: the statement {name!r} is there twice")
            found[name] = statement
    return found


def _statements(text: LiteralString) -> Iterator[tuple[str, LiteralString]]:
    headings = list(_HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    for heading, end in zip(headings, ends, strict=True):
        yield heading["name"], text[heading.end() : end].strip()


#: What a transaction of any store may begin with.
SESSION: Final = statements("querymill_workers.postgres", "session.sql")
