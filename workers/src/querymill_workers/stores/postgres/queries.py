"""Read the named queries of the ``.sql`` files."""

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import LiteralString

_HEADING = re.compile(r"^-- (?P<name>[a-z_]+): .*$", re.MULTILINE)


@cache
def named() -> dict[str, LiteralString]:
    """Return the statements by name; a heading ``-- name: what it does`` begins each."""
    folder = resources.files("querymill_workers.stores.postgres")
    files = ("queries.sql", "messages.sql", "conversations.sql", "conversation_ranks.sql")
    return dict(statement for file in files for statement in _statements((folder / file).read_text()))


def _statements(text: LiteralString) -> Iterator[tuple[str, LiteralString]]:
    headings = list(_HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    for heading, end in zip(headings, ends, strict=True):
        yield heading["name"], text[heading.end() : end].strip()
