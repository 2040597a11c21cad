"""Discord: a channel as CSV. It names no messages, and writes times in the locale of the exporter."""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Final

from querymill_histories.compressed import open_plain
from querymill_histories.formats.discord_dates import Row, dated
from querymill_histories.rules.remarks import ATTACHMENTS, CUT, NOT_UTF8, SYSTEM_LINES, WITHOUT_TEXT
from querymill_histories.session import Head, HistoryMessage, ReadOptions

_COLUMNS: Final = ["AuthorID", "Author", "Date", "Content"]
#: What the exporter writes in place of a message of Discord itself.
OF_DISCORD: Final = re.compile(
    r"(?:Added .+ to the group|Left the group|Removed .+ from the group|Started a call that lasted .+ minutes"
    r"|Changed the channel name: .*|Changed the channel icon|Pinned a message|Started a thread|Joined the server)\.?"
)


def is_csv(head: Head) -> bool:
    """Return whether a file begins with the names of the exporter's columns."""
    first = head.text.split("\n", 1)[0]
    return [name.strip().strip('"') for name in first.split(",")][: len(_COLUMNS)] == _COLUMNS


def messages_in_csv(path: Path, asked: ReadOptions, left_out: Counter[str]) -> Iterator[HistoryMessage]:
    """Yield the messages of a channel.

    Raises:
        OSError: It cannot be read.
        csv.Error: It is broken.
    """
    yield from dated(list(_rows(path, left_out)), asked.zone, left_out)


def _rows(path: Path, left_out: Counter[str]) -> Iterator[Row]:
    with TextIOWrapper(open_plain(path), encoding="utf-8", errors="replace", newline="") as file:
        reader = csv.reader(line.replace("\0", "") for line in file)
        next(reader, None)
        before = reader.line_num
        for row in reader:
            number, before = before + 1, reader.line_num
            left_out[NOT_UTF8] += any("\ufffd" in cell for cell in row)
            if len(row) < len(_COLUMNS):
                left_out[CUT] += bool(row)  # the exporter was stopped while it wrote
                continue
            _, author, date, text, files, *_ = [*row, ""]
            text, sent = text.replace("\r\n", "\n").strip(), len(list(filter(None, map(str.strip, files.split(",")))))
            left_out[ATTACHMENTS] += sent
            if OF_DISCORD.fullmatch(text):
                left_out[SYSTEM_LINES] += 1
            elif text:
                yield Row(number, author, date.strip(), text)
            else:
                left_out[WITHOUT_TEXT] += not sent
