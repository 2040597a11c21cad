"""Read the named queries of the ``.sql`` files."""

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import LiteralString

_HEADING = re.compile(r"^-- (?P<name>[a-z_]+): .*$", re.MULTILINE)

FILES = (
    "postgres/queries.sql",
    "retrievers/messages/stores/postgres.sql",
    "retrievers/messages/stores/postgres_sessions.sql",
    "retrievers/conversations/stores/postgres.sql",
    "retrievers/conversations/stores/postgres_ranks.sql",
    "retrievers/files/stores/postgres.sql",
)


@cache
def named() -> dict[str, LiteralString]:
    """Return the statements by name; a heading ``-- name: what it does`` begins each."""
    folder = resources.files("querymill_workers")
    statements: dict[str, LiteralString] = {}
    for file in FILES:
        statements.update(_statements((folder / file).read_text()))
    return statements


def _statements(text: LiteralString) -> Iterator[tuple[str, LiteralString]]:
    headings = list(_HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    for heading, end in zip(headings, ends, strict=True):
        yield heading["name"], text[heading.end() : end].strip()
