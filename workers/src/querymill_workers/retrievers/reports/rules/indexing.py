"""What the text index of reports knows of a passage."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from textwrap import wrap
from typing import Final

from querymill_workers.retrievers.reports.rules.chunking import Chunk, PageText
from querymill_workers.retrievers.reports.rules.rows import row_names
from querymill_workers.text.languages import language_of

#: Raise it with every change of these rules, so that a report that is ingested again is indexed again.
INDEXING_VERSION: Final = 5
#: Lines of a page that are its head, and how often the words of the head count in each of its passages.
HEAD_LINES: Final = 4
HEAD_WEIGHT: Final = 5
#: What a printed line holds, in characters. A longer line of a page is a paragraph, and counts as several lines.
HEAD_LINE_CHARS: Final = 100
#: What questions call a table. Chinese is indexed by pairs of characters, so each of these is found by its own pair.
TABLE_NAME: Final = "table"
TABLE_NAME_ZH: Final = "表格 表中 下表"
_RULE_MARKS: Final = frozenset("|:-+= \t")


def indexed_text(chunk: Chunk, head: str) -> str:
    """Return the text whose words find a passage: itself, the head of its page, the names of its rows, and "table".

    The head says what kind of page it is ("Consolidated balance sheets"), which questions name and the passage itself
    may not. It counts five times, so that one of its words weighs more than one of the passage. A question may name a
    table by nothing but that word ("What does the table show?"), which neither the table nor the sentence before it
    need have. A row of a table is named once for each of its values: it is what questions ask by.
    """
    rows = row_names(chunk.text)
    named = [_table_names(chunk.text)] if rows or _introduces(chunk.text) else []
    return "\n".join([*[head] * HEAD_WEIGHT, chunk.text, *rows, *named])


def _introduces(text: str) -> bool:
    """Return whether a text ends as a sentence before a table or a list does: "… for the years ended:"."""
    return text.rstrip().endswith((":", "："))


def _table_names(text: str) -> str:
    return f"{TABLE_NAME} {TABLE_NAME_ZH}" if language_of(text) == "zh" else TABLE_NAME


def heads(pages: Iterable[PageText]) -> Mapping[int, str]:
    """Return the head of each page, by page number: its first four printed lines that are not blank.

    Some readers give a paragraph as one line. It is cut as a printer would cut it, so that a head has the same length
    by any reader: words of a whole paragraph counted five times, as if they named the page. The rule under the names of
    a Markdown table's columns is no line, and each name counts once: a reader joins the name of a group to that of each
    of its columns (``2023 / Sales | 2023 / Costs`` gives "2023 | Sales | Costs").
    """
    return {page.page: "\n".join(islice(_printed_lines(page.text), HEAD_LINES)) for page in pages}


def _printed_lines(text: str) -> Iterator[str]:
    for line in map(str.strip, text.splitlines()):
        if line and not ("|" in line and _RULE_MARKS.issuperset(line)):
            named = _names_once(line) if line.startswith("|") else line
            # No head needs more, and a page may be one line of a million characters.
            yield from wrap(named[: (HEAD_LINES + 1) * (HEAD_LINE_CHARS + 1)], HEAD_LINE_CHARS)


def _names_once(row: str) -> str:
    names = (name.strip() for cell in row.strip("|").split("|") for name in cell.split(" / "))
    return " | ".join(dict.fromkeys(name for name in names if name))


def group_of(document: str) -> str:
    """Return the group of a report's entries: a hash, because the index keeps the name of a group that is empty."""
    return hashlib.sha256(document.encode()).hexdigest()[:32]
