"""Discord: a channel as CSV. It names no messages, and writes times in the locale of the exporter."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from typing import Final

from querymill_histories.compressed import open_plain
from querymill_histories.rules.day_order import WrittenDate, order_of
from querymill_histories.rules.times import moment
from querymill_histories.session import Head, HistoryMessage, ReadOptions

_COLUMNS: Final = ["AuthorID", "Author", "Date", "Content"]
#: What the exporter writes in place of a message of Discord itself.
_OF_DISCORD: Final = re.compile(
    r"(?:Added .+ to the group|Left the group|Removed .+ from the group|Started a call that lasted .+ minutes"
    r"|Changed the channel name: .*|Changed the channel icon|Pinned a message|Started a thread|Joined the server)\.?"
)
_NUMBERS: Final = re.compile(
    r"(\d{1,4})([./-])(\d{1,2})[./-](\d{1,4})(,?)\s+(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?\s*(?:([AaPp])\.?[Mm]\.?)?"
)
#: Dates with the name of a month in them.
_NAMED: Final = ("%d-%b-%y %I:%M %p", "%d-%b-%y %H:%M", "%d-%b-%Y %I:%M %p", "%d-%b-%Y %H:%M")
_DISCRIMINATOR: Final = re.compile(r"#\d{4}$")


@dataclass(frozen=True, slots=True)
class _Row:
    """A message as it stands in the file."""

    number: int
    author: str
    date: str
    text: str


def is_csv(head: Head) -> bool:
    """Return whether a file begins with the names of the exporter's columns."""
    first = head.text.split("\n", 1)[0]
    return [name.strip().strip('"') for name in first.split(",")][: len(_COLUMNS)] == _COLUMNS


def messages_in_csv(path: Path, asked: ReadOptions) -> Iterator[HistoryMessage]:
    """Yield the messages of a channel.

    Raises:
        OSError: It cannot be read.
        csv.Error: It is broken.
    """
    rows = list(_rows(path))
    stamps = {row.date: stamp for row in rows if (stamp := _stamp(row.date)) is not None}
    order = order_of([stamps[row.date] for row in rows if row.date in stamps])
    for row in rows:
        stamp = stamps.get(row.date)
        at = _named(row.date, asked) if stamp is None else stamp.moment(order)
        yield HistoryMessage(
            row.author, row.text, None, at and (at if at.tzinfo else at.replace(tzinfo=asked.zone)), row.number
        )


def _rows(path: Path) -> Iterator[_Row]:
    with TextIOWrapper(open_plain(path), encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        next(reader, None)
        before = reader.line_num
        for row in reader:
            number, before = before + 1, reader.line_num
            if len(row) < len(_COLUMNS):
                continue  # the exporter was stopped while it wrote
            _, author, date, text, *_ = row
            if text.strip() and not _OF_DISCORD.fullmatch(text.strip()):
                yield _Row(number, _DISCRIMINATOR.sub("", author) or "unknown", date.strip(), text.strip())


def _stamp(date: str) -> WrittenDate | None:
    match = _NUMBERS.fullmatch(date)
    if match is None:
        return None
    first, separator, second, third, comma, hour, minute, seconds, half = match.groups()
    hours = int(hour) if half is None else int(hour) % 12 + (12 if half in "Pp" else 0)
    return WrittenDate((first, second, third), (hours, int(minute), int(seconds or 0)), separator, bool(comma))


def _named(date: str, asked: ReadOptions) -> datetime | None:
    for form in _NAMED:
        try:
            return datetime.strptime(date, form)  # noqa: DTZ007  # the caller gives the zone
        except ValueError:
            continue
    return moment(date, asked.zone)
