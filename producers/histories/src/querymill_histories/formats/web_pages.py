"""Chats as web pages: a page is parsed piece by piece, and the pages of one chat are one session."""

from collections import Counter
from html.parser import HTMLParser
from io import TextIOWrapper
from pathlib import Path
from typing import Final

from querymill_histories.compressed import open_plain
from querymill_histories.rules.copies import one_each
from querymill_histories.rules.remarks import NOT_UTF8
from querymill_histories.session import Read, Session

#: Characters that are parsed at a time.
_CHUNK: Final = 1 << 20


def parse_page(path: Path, parser: HTMLParser, left_out: Counter[str]) -> None:
    """Parse a file to its end. What is not UTF-8 is counted in ``left_out``.

    Raises:
        OSError: The file cannot be read.
    """
    with TextIOWrapper(open_plain(path), encoding="utf-8", errors="replace") as file:
        while piece := file.read(_CHUNK):
            parser.feed(piece)
            left_out[NOT_UTF8] += piece.count("\ufffd")
    parser.close()


def join_pages(found: Read, prefix: str) -> Read:
    """Yield what was found, and at the end one session for all those of one id that begins with ``prefix``.

    The pages of a chat are numbered, so a longer name is a later page: ``messages.html``, ``messages2.html``.
    """
    pages: list[Session] = []
    for each in found:
        if isinstance(each, Session) and each.id.startswith(prefix):
            pages.append(each)
        else:
            yield each
    yield from one_each(sorted(pages, key=lambda page: (page.source.parent, len(page.source.name), page.source.name)))
