"""How fast a limit per minute may be spent, so that no window of a minute ever holds more than the limit."""

from dataclasses import dataclass

#: The part of a limit that may be spent at once. A provider that counts in short windows forgives little;
#: of tokens one request alone needs many.
REQUESTS_AT_ONCE = 1 / 200
TOKENS_AT_ONCE = 1 / 50
#: A call arrives a little later than it was let go; windows are taken this much longer.
ARRIVAL_SLACK_MS = 250.0
WINDOW_MS = 60_000.0


@dataclass(frozen=True, slots=True)
class Pace:
    """A token bucket: one unit each ``interval_ms``, at most ``burst`` units saved up. No limit: interval 0."""

    interval_ms: float
    burst: float


UNLIMITED = Pace(0.0, 0.0)


def pace(limit_per_minute: int | None, *, at_once: float) -> Pace:
    """Spread a limit over its minute: burst + rate × window ≤ limit.

    A bucket whose burst is the whole limit lets twice the limit through a window: once what it saved, once
    what flows in meanwhile. Example: 600 a minute, 1/200 of it at once, gives a burst of 3 and one more each
    100.9 ms, and so at most 3 + 594.5 in any minute.
    """
    if limit_per_minute is None:
        return UNLIMITED
    burst = max(1.0, limit_per_minute * at_once)
    flowing = max(limit_per_minute - burst, limit_per_minute / 2)
    return Pace((WINDOW_MS + ARRIVAL_SLACK_MS) / flowing, burst)
