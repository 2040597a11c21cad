"""Times as tools write them."""

from collections import Counter
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

from querymill_histories.rules.remarks import NO_TIMES

#: Numbers above this are milliseconds: as seconds they would lie beyond the year 5000.
_MILLISECONDS_ABOVE: Final = 1e11


#: Numbers below this, a day of 1973, are no times but durations.
_TOO_EARLY: Final = 1e8


def moment(value: Any, zone: tzinfo = UTC) -> datetime | None:
    """Read a time: ISO 8601, or seconds or milliseconds since 1970, as a number or as text.

    Args:
        value: What the file holds.
        zone: The zone of a time that names none.

    Returns:
        The time with its zone, or None if it is none.
    """
    match value:
        case bool() | None:
            return None
        case int() | float():
            return _since_epoch(float(value))
        case str():
            return _from_text(value.strip(), zone)
        case _:
            return None


def counted_moment(value: Any, left_out: Counter[str], zone: tzinfo = UTC) -> datetime | None:
    """Read a time as `moment` does. One that is there and is not understood is counted."""
    found = moment(value, zone)
    left_out[NO_TIMES] += found is None and value not in (None, "", 0)
    return found


def _since_epoch(value: float) -> datetime | None:
    seconds = value / 1_000 if abs(value) > _MILLISECONDS_ABOVE else value
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds > _TOO_EARLY else None
    except (OverflowError, OSError, ValueError):
        return None


def _from_text(value: str, zone: tzinfo) -> datetime | None:
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        try:
            return _since_epoch(float(value))
        except ValueError:
            return None
    return found.replace(tzinfo=zone) if found.tzinfo is None else found
