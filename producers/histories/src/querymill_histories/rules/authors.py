"""Who speaks in a chat that is exported as text: what stands before the colons of its lines."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

#: An author is whatever stands before the first colon; an address of Matrix has one in it.
AUTHOR: Final = re.compile(
    r"(?P<author>@[^\s:]{1,100}:[^\s:]{1,100}|[^:\n]{1,100}?)\s?:(?:\s(?P<text>.*)|$)", re.DOTALL
)
#: Quotation marks, and those that close them: one that is open at the colon stands around what a program reports.
_QUOTES: Final = {"“": "”", "«": "»", "„": "“", "「": "」"}
_QUOTED: Final = re.compile('["“”«»„「」]')
#: What stands before a colon in a log.
_OF_LOG: Final = re.compile(r"<|\*|(?:.*\W)?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|SEVERE)\b")


def are_said(texts: Sequence[str]) -> bool:
    """Return whether lines without their dates are of a chat.

    Logs of programs and of IRC begin their lines with a date too, so most of those that name an author must name one
    of a chat: neither ``ERROR: no port`` nor ``<ann> hi: there`` does.
    """
    by_log = [_OF_LOG.match(match["author"]) is not None for text in texts if (match := AUTHOR.match(text))]
    return by_log.count(False) > by_log.count(True)


def authors_of(texts: Sequence[str]) -> frozenset[str]:
    """Return who speaks in a chat, of what stands before the colons of its lines.

    A quotation mark that is not closed before the colon belongs to what a program reports, as in ``Ann named the group
    "tea: at five"``, unless the same words stand there more than once.
    """
    before = Counter(match["author"] for text in texts if (match := AUTHOR.match(text)))
    return frozenset(author for author, count in before.items() if count > 1 or not _is_quoting(author))


def _is_quoting(author: str) -> bool:
    awaited: list[str] = []
    for mark in _QUOTED.findall(author):
        if awaited and mark == awaited[-1]:
            awaited.pop()
        else:
            awaited.append(_QUOTES.get(mark, mark))
    return bool(awaited)
