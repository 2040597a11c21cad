"""How fast a limit per minute may be used, so that no window of one minute ever exceeds the limit."""

from querymill_shared.values import value

#: The share of a limit that may be used at once. It is small, because some providers count in short windows.
#: For tokens it is larger, because a single request needs many.
REQUESTS_AT_ONCE = 1 / 200
TOKENS_AT_ONCE = 1 / 50
#: A call reaches the provider a little after its grant, so windows are taken to be this much longer.
ARRIVAL_SLACK_MS = 250.0
WINDOW_MS = 60_000.0


@value
class TokenBucket:
    """A token bucket: it gains one unit every ``interval_ms`` and holds up to ``burst``. Interval 0 means no limit."""

    interval_ms: float
    burst: float


UNLIMITED = TokenBucket(0.0, 0.0)


def bucket_for(limit_per_minute: int | None, *, at_once: float) -> TokenBucket:
    """Return the bucket for a limit, such that burst + rate × window ≤ limit.

    A bucket whose burst is the whole limit would allow twice the limit in one window: the full bucket, and the units
    it gains in that minute. Example: 600 per minute with 1/200 at once gives a burst of 3 and one unit every 100.9 ms,
    and so at most 3 + 594.5 in any minute.
    """
    if limit_per_minute is None:
        return UNLIMITED
    burst = max(1.0, limit_per_minute * at_once)
    flowing = max(limit_per_minute - burst, limit_per_minute / 2)
    return TokenBucket((WINDOW_MS + ARRIVAL_SLACK_MS) / flowing, burst)
