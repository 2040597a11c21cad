"""Which number of a date is the day: the dates of a file tell, taken together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from itertools import pairwise
from typing import Final

#: Years by which the calendar of Thailand is ahead.
_BUDDHIST: Final = 543


class DayOrder(Enum):
    """The order of year, month and day."""

    DAY_FIRST = "day first"
    MONTH_FIRST = "month first"
    YEAR_FIRST = "year first"

    @property
    def described(self) -> str:
        """How a person calls it."""
        return str(self.value)


@dataclass(frozen=True, slots=True)
class WrittenDate:
    """The numbers of a date as they stand, and its time; how they are separated, and whether a comma follows."""

    parts: tuple[str, str, str]
    time: tuple[int, int, int]
    separator: str = "/"
    comma: bool = True

    def moment(self, order: DayOrder) -> datetime | None:
        """Return the time without a zone, or None if there is no such day."""
        first, second, third = map(int, self.parts)
        match order:
            case DayOrder.DAY_FIRST:
                year, month, day = third, second, first
            case DayOrder.MONTH_FIRST:
                year, month, day = third, first, second
            case DayOrder.YEAR_FIRST:
                year, month, day = first, second, third
        year += 2000 if year < 100 else -_BUDDHIST if year > 2400 else 0
        try:
            return datetime(year, month, day, *self.time)  # noqa: DTZ001
        except ValueError:
            return None


def order_of(stamps: Sequence[WrittenDate]) -> DayOrder:
    """Return the order in which the most dates exist; if that decides nothing, in which they go back the least.

    ``9/12/20`` after ``8/11/20`` could be both; with ``13/9/20`` in the file the day is first. If time decides nothing
    either, the form does: dates with dots and padded ones begin with the day, ``9/12/20,`` with the month.
    """
    if any(len(stamp.parts[0]) == 4 for stamp in stamps):
        return DayOrder.YEAR_FIRST
    day, month = DayOrder.DAY_FIRST, DayOrder.MONTH_FIRST
    measures: tuple[Callable[[DayOrder], float], ...] = (
        lambda order: sum(stamp.moment(order) is None for stamp in stamps),
        lambda order: days_back(stamps, order),
    )
    for measure in measures:
        by_day, by_month = measure(day), measure(month)
        if by_day != by_month:
            return day if by_day < by_month else month
    is_padded = all(len(part) > 1 for stamp in stamps for part in stamp.parts[:2])
    has_small = any(int(part) < 10 for stamp in stamps for part in stamp.parts[:2])
    american = all(stamp.separator == "/" and stamp.comma for stamp in stamps) and has_small and not is_padded
    return month if american else day


def days_back(stamps: Sequence[WrittenDate], order: DayOrder) -> float:
    """Return by how many days the dates go back, all together: a chat goes forward."""
    dates = [found.date() for stamp in stamps if (found := stamp.moment(order)) is not None]
    return float(sum(max((before - after).days, 0) for before, after in pairwise(dates)))
