"""What the text index of reports knows of a passage."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

from querymill_workers.retrievers.reports.rules.chunking import Chunk, PageText
from querymill_workers.retrievers.reports.rules.rows import row_lines

#: Raise it with every change of these rules, so that a report that is ingested again is indexed again.
INDEXING_VERSION: Final = 2
#: Lines of a page that are its head, and how often the words of the head count in each of its passages.
HEAD_LINES: Final = 4
HEAD_WEIGHT: Final = 5
#: A line of a head counts up to so many characters: a page without line ends has no head but its text.
HEAD_CHARS: Final = 300


def indexed_text(chunk: Chunk, head: str) -> str:
    """Return the text whose words find a passage: itself, the head of its page, and its tables as lines.

    The head says what kind of page it is ("Consolidated balance sheets"), which questions name and the passage itself
    may not. It counts five times, so that one of its words weighs more than one of the passage.
    """
    return "\n".join([*[head] * HEAD_WEIGHT, chunk.text, *row_lines(chunk.text)])


def heads(pages: Iterable[PageText]) -> Mapping[int, str]:
    """Return the head of each page, by page number: its first four lines that are not blank."""
    found = {}
    for page in pages:
        lines = (line.strip()[:HEAD_CHARS] for line in page.text.splitlines() if not line.isspace() and line)
        found[page.page] = "\n".join(line for line, _ in zip(lines, range(HEAD_LINES), strict=False))
    return found


def group_of(document: str) -> str:
    """Return the group of a report's entries: a hash, because the index keeps the name of a group that is empty."""
    return hashlib.sha256(document.encode()).hexdigest()[:32]
