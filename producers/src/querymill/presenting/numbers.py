"""Durations, quantities and times as people read them."""

from collections.abc import Mapping
from datetime import datetime

_SECOND_MS = 1_000


def duration(ms: float) -> str:
    """Return a duration as text: "12 ms", "0.31 s", "41.2 s", "2 min 10 s", "2 h 14 min"."""
    if ms < 100:
        return f"{max(round(ms), 0)} ms"
    if ms < 9_995:
        return f"{ms / _SECOND_MS:.2f} s"
    if ms < 59_950:
        return f"{ms / _SECOND_MS:.1f} s"
    seconds = round(ms / _SECOND_MS)
    if seconds < 3_600:
        return f"{seconds // 60} min {seconds % 60:02} s"
    return f"{seconds // 3_600} h {seconds % 3_600 // 60:02} min"


def quantity(number: int, units: str) -> str:
    """Return how many there are of something that is named in the plural: "1 page", "1,284 pages"."""
    return f"{number:,} {units.removesuffix('s') if number == 1 else units}"


def laps(timing: Mapping[str, float]) -> str:
    """Return what a result says about time: "queued 2 ms, first branch 228 ms"."""
    return ", ".join(f"{name.removesuffix('_ms').replace('_', ' ')} {ms:,.0f} ms" for name, ms in timing.items())


def day_or_time(when: datetime) -> str:
    """Return a time to the minute, or only the day if it is midnight, as reports have it."""
    return when.strftime("%Y-%m-%d %H:%M").removesuffix(" 00:00")
