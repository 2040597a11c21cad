"""Discord: times in the locale of the exporter, in forms that name no messages by their ids."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Final

from querymill_histories.rules.day_order import WrittenDate, order_of
from querymill_histories.rules.remarks import NO_TIMES
from querymill_histories.rules.times import moment
from querymill_histories.rules.written_dates import written_moment
from querymill_histories.session import HistoryMessage

_NUMBERS: Final = re.compile(
    r"(\d{1,4})([./-])\s?(\d{1,2})[./-]\s?(\d{1,4})(,?)\s+(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?\s*(?:([AaPp])\.?\s?[Mm]\.?)?"
)
#: Dates with the name of a month in them, as older versions write them.
_NAMED: Final = ("%d-%b-%y %I:%M %p", "%d-%b-%y %H:%M", "%d-%b-%Y %I:%M %p", "%d-%b-%Y %H:%M")
_DISCRIMINATOR: Final = re.compile(r"#\d{4}$")


@dataclass(slots=True)
class Row:
    """A message as it stands in a file."""

    number: int
    author: str
    date: str
    text: str


def dated(rows: Sequence[Row], zone: tzinfo, left_out: Counter[str]) -> Iterator[HistoryMessage]:
    """Yield messages with their times: all dates together tell which of their numbers is the day."""
    stamps = {row.date: stamp for row in rows if (stamp := _stamp(row.date)) is not None}
    order = order_of([stamps[row.date] for row in rows if row.date in stamps])
    for row in rows:
        stamp = stamps.get(row.date)
        at = _named(row.date, zone) if stamp is None else stamp.moment(order)
        left_out[NO_TIMES] += at is None
        author = _DISCRIMINATOR.sub("", row.author) or "unknown"
        yield HistoryMessage(author, row.text, None, at and (at if at.tzinfo else at.replace(tzinfo=zone)), row.number)


def _stamp(date: str) -> WrittenDate | None:
    match = _NUMBERS.fullmatch(date)
    if match is None:
        return None
    first, separator, second, third, comma, hour, minute, seconds, half = match.groups()
    hours = int(hour) if half is None else int(hour) % 12 + (12 if half in "Pp" else 0)
    return WrittenDate((first, second, third), (hours, int(minute), int(seconds or 0)), separator, bool(comma))


def _named(date: str, zone: tzinfo) -> datetime | None:
    for form in _NAMED:
        try:
            return datetime.strptime(date, form)  # noqa: DTZ007  # the caller gives the zone
        except ValueError:
            continue
    return moment(date, zone) or written_moment(date, zone)
