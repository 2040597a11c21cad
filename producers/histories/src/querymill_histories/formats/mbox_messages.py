"""The messages of a mailbox file: where one ends and the next begins."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from querymill_histories.compressed import open_plain

_DAY: Final = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH: Final = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
#: ``From ann@a.example Mon May 06 09:00:00 2024``: an address, or what stands for one, and a date.
_SEPARATOR: Final = re.compile(
    rb"From \S.{0,400}?(?:" + _DAY + rb",? +" + _MONTH + rb" +\d{1,2} +\d{1,2}:\d\d|"
    + _DAY + rb", +\d{1,2} " + _MONTH + rb" \d{4} +\d{1,2}:\d\d|\d{4}-\d\d-\d\d[ T]\d\d:\d\d)"
)  # fmt: skip
_HEADER: Final = re.compile(rb">?[!-9;-~]{1,100}:|>?From ")
#: Headers that a mail begins with, by which a separator is known that no blank line stands before.
_FIRST_HEADER: Final = re.compile(
    rb"(?:Return-Path|Received|Delivered-To|Message-ID|X-[\w-]+|Date|From|MIME-Version|Status|Subject|To):",
    re.IGNORECASE,
)
#: A line that a mailbox writes with a mark, because it would look like a separator.
_MARKED: Final = re.compile(rb">(>*From )")
#: A longer line is cut.
_MAX_LINE_BYTES: Final = 64 << 20


def messages_in(path: Path) -> Iterator[bytes]:
    """Yield the messages of a mailbox file, without the lines between them.

    A line that begins with "From " is of a text, unless it has an address and a date, stands after a blank line, and a
    header follows it.

    Raises:
        OSError: The file cannot be read.
    """
    held: list[bytes] | None = None
    before = b"\n"
    with open_plain(path) as file:
        line = file.readline(_MAX_LINE_BYTES)
        while line:
            after = file.readline(_MAX_LINE_BYTES)
            if _separates(before, line, after, is_first=held is None):
                if held:
                    yield b"".join(unmarked(held))
                held = []
            elif held is not None:
                held.append(line)
            before, line = line, after
    if held:
        yield b"".join(unmarked(held))


def _separates(before: bytes, line: bytes, after: bytes, *, is_first: bool) -> bool:
    if not line.startswith(b"From ") or not _HEADER.match(after):
        return False
    if is_first:
        return True
    if not _SEPARATOR.match(line):
        return False
    return not before.strip() or _FIRST_HEADER.match(after) is not None


def unmarked(lines: list[bytes]) -> Iterator[bytes]:
    """Yield lines without the mark of a mailbox. Between lines that are quoted, it is one of a quotation."""
    for number, line in enumerate(lines):
        match = _MARKED.match(line)
        if match is None:
            yield line
            continue
        near = [lines[other] for other in (number - 1, number + 1) if 0 <= other < len(lines)]
        is_quoted = any(other.startswith(b">") and not _MARKED.match(other) for other in near)
        yield line if is_quoted else line[1:]
