"""Read named SQL statements from ``.sql`` files. Each store loads its own."""

import re
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Final, LiteralString

_HEADING = re.compile(r"^-- (?P<name>[a-z_]+): .*$", re.MULTILINE)


def statements(package: str, *files: str) -> Mapping[str, LiteralString]:
    """Return the statements of a package's files by name. Each begins with a heading ``-- name: what it does``.

    Raises:
        ValueError: Two statements have the same name.
    """
    found: dict[str, LiteralString] = {}
    for file in files:
        for name, statement in _statements((resources.files(package) / file).read_text(encoding="utf-8")):
            if name in found:
                raise ValueError(f"{package}/{file}: the statement {name!r} is defined twice")
            found[name] = statement
    return found


def _statements(text: LiteralString) -> Iterator[tuple[str, LiteralString]]:
    headings = list(_HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    for heading, end in zip(headings, ends, strict=True):
        yield heading["name"], text[heading.end() : end].strip()


#: Statements that a transaction of any store may begin with.
SESSION: Final = statements("querymill_workers.postgres", "session.sql")
