"""Read the named queries of ``queries.sql``."""

import re
from functools import cache
from importlib import resources
from typing import LiteralString

_HEADING = re.compile(r"^-- (?P<name>[a-z_]+): .*$", re.MULTILINE)


@cache
def named() -> dict[str, LiteralString]:
    """Return the statements by name; a heading ``-- name: what it does`` begins each."""
    text = (resources.files("querymill_workers.stores.postgres") / "queries.sql").read_text()
    headings = list(_HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    return {heading["name"]: text[heading.end() : end].strip() for heading, end in zip(headings, ends, strict=True)}
