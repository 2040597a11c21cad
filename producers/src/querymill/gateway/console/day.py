"""The last day as the overview draws it: how long questions took, and how all jobs ended, by the half hour. Pure.

It is made from the history that the board keeps by the minute, so all replicas show the same day.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from querymill.gateway.console.wording import clock, count, duration
from querymill.gateway.http.scopes import REQUESTS
from querymill_shared.board.counts import joined, of_all
from querymill_shared.fleet_history import Minute, total

#: Seconds of a slot, and slots of a day.
SLOT_S, SLOTS = 1_800, 48
HOUR_S, HOURS = 3_600, 24
#: Heights of the two drawings, in pixels; the least of what counted something.
TOOK_PX, ENDED_PX, LEAST_PX = 64.0, 48.0, 2.0
#: Where the drawing of ends begins and where it stands, in pixels from the top of both.
ENDED_Y, BOTTOM = 76.0, 124.0
#: The range of times that is drawn, on a logarithmic scale, in seconds, and the marks of its axis.
SHORTEST_S, LONGEST_S = 0.02, 60.0
MARKS_S: Final = (0.1, 1.0, 10.0)
#: Kinds of request that have a question.
QUESTIONS: Final = frozenset(kind for kind, asked in REQUESTS.items() if "query" in asked.model_fields)
#: How jobs end by a fault, and not by a mistake of who asks.
FAULTS: Final = ("failed", "dead")


@dataclass(frozen=True, slots=True)
class Slot:
    """What was counted from ``at`` (s since the epoch) for ``length_s`` seconds.

    ``ended`` jobs are those of all kinds; ``incomplete`` ones lack a part, ``failed`` ones are given up. ``half_s`` and
    ``most_s`` are bounds within which 50 % and 95 % of the questions ended; infinite beyond the last bound, None if no
    question did.
    """

    at: float
    length_s: int
    ended: int = 0
    incomplete: int = 0
    failed: int = 0
    half_s: float | None = None
    most_s: float | None = None

    @property
    def said(self) -> str:
        """The slot in words."""
        times = f"{clock(self.at)[11:16]} to {clock(self.at + self.length_s)[11:16]} UTC"
        said = f"{times}: {count(self.ended)} ended, {count(self.incomplete)} incomplete, {count(self.failed)} failed"
        if self.half_s is None:
            return said
        return f"{said}; of the questions, half within {bound(self.half_s)}, 95 % within {bound(self.most_s)}"


@dataclass(frozen=True, slots=True)
class DayBar:
    """A bar: its class, where it begins and how wide it is in percent, its top and height in pixels."""

    css: str
    x: float
    width: float
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class DayDrawing:
    """The day: its slots, the hours in which a job ended, the bars of times and of ends, the marks of times.

    ``most`` jobs ended in the fullest slot: as many are as high as the drawing of ends, from ``ended_y`` to ``bottom``.
    """

    slots: tuple[Slot, ...]
    hours: tuple[Slot, ...]
    took: tuple[DayBar, ...]
    ended: tuple[DayBar, ...]
    marks: tuple[tuple[str, float], ...]
    most: int
    ended_y: float = ENDED_Y
    bottom: float = BOTTOM

    @property
    def sum(self) -> Slot:
        """The day as one slot, without times."""
        return Slot(
            self.slots[0].at,
            SLOT_S * SLOTS,
            sum(slot.ended for slot in self.slots),
            sum(slot.incomplete for slot in self.slots),
            sum(slot.failed for slot in self.slots),
        )


def slots_of(minutes: Sequence[Minute], now: float, length_s: int, number: int) -> tuple[Slot, ...]:
    """Return the last slots of a length, the earliest first. The last one holds ``now`` (s since the epoch)."""
    last = int(now // length_s)
    held: dict[int, list[Minute]] = {}
    for minute in minutes:
        # A record tells of the minute before it.
        held.setdefault(int((minute.at - 1) // length_s), []).append(minute)
    return tuple(_slot(held.get(place, ()), place * length_s, length_s) for place in range(last - number + 1, last + 1))


def _slot(minutes: Iterable[Minute], at: float, length_s: int) -> Slot:
    counts = joined(total(minutes))
    took = of_all(latency for kind, latency in counts.latency.items() if kind in QUESTIONS)
    half_s, most_s = (took.within(share) if took.jobs else None for share in (0.5, 0.95))
    return Slot(
        at,
        length_s,
        sum(number for (_, state), number in counts.ended.items() if state != "cancelled"),
        sum(counts.incomplete.values()),
        sum(number for (_, state), number in counts.ended.items() if state in FAULTS),
        half_s,
        most_s,
    )


def day_of(minutes: Sequence[Minute], now: float) -> DayDrawing | None:
    """Draw the last day, or return None if nothing ended in it."""
    slots = slots_of(minutes, now, SLOT_S, SLOTS)
    most = max(slot.ended for slot in slots)
    if not most:
        return None
    return DayDrawing(
        slots,
        tuple(slot for slot in slots_of(minutes, now, HOUR_S, HOURS) if slot.ended),
        tuple(bar for place, slot in enumerate(slots) for bar in _took(slot, place)),
        tuple(bar for place, slot in enumerate(slots) for bar in _ended(slot, place, most)),
        tuple((bound(mark), height_of(mark)) for mark in MARKS_S),
        most,
    )


def height_of(seconds: float) -> float:
    """Return where a time stands, in pixels from the top.

    >>> [height_of(seconds) for seconds in (0.02, 1.0, 60.0, float("inf"))]
    [64.0, 32.7, 0.0, 0.0]
    """
    kept = min(max(seconds, SHORTEST_S), LONGEST_S)
    return round(TOOK_PX * (1 - math.log10(kept / SHORTEST_S) / math.log10(LONGEST_S / SHORTEST_S)), 1)


def bound(seconds: float | None) -> str:
    """Write a bound of times, which is none of its measured digits: 0.25 s, 5 s, longer."""
    if seconds is None:
        return "–"
    return "longer than 30 min" if math.isinf(seconds) else duration(seconds) if seconds >= 60 else f"{seconds:g} s"


def _place(place: int) -> tuple[float, float]:
    return round(100 * (place + 0.1) / SLOTS, 3), round(80 / SLOTS, 3)


def _took(slot: Slot, place: int) -> Iterable[DayBar]:
    """Draw the times of a slot: a bar from the half to the 95 %, a cap at the 95 %."""
    if slot.half_s is None or slot.most_s is None:
        return
    x, width = _place(place)
    bottom, top = height_of(slot.half_s), height_of(slot.most_s)
    yield DayBar("range", x, width, top, max(bottom - top, LEAST_PX))
    yield DayBar("half", x, width, min(bottom, TOOK_PX - LEAST_PX), LEAST_PX)


def _ended(slot: Slot, place: int, most: int) -> Iterable[DayBar]:
    """Draw the ends of a slot, on top of each other: failed, incomplete, complete."""
    x, width = _place(place)
    bottom = BOTTOM
    complete = max(slot.ended - slot.incomplete - slot.failed, 0)
    for css, number in (("failed", slot.failed), ("incomplete", slot.incomplete), ("complete", complete)):
        if number:
            height = min(max(round(ENDED_PX * number / most, 1), LEAST_PX), bottom - ENDED_Y)
            bottom = round(bottom - height, 1)
            yield DayBar(css, x, width, bottom, height)
