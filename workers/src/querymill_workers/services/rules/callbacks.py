"""When a message to a caller is accepted, and when it is sent again."""

from typing import Final, Literal

#: What is waited before a message is sent again, in seconds: after the first time, the second, and so on; the last one
#: stays. A restart of the receiver is over after some seconds, an outage may take hours.
WAITS_S: Final = (5.0, 30.0, 120.0, 600.0, 1_800.0, 3_600.0)
#: A wait is longer by up to this share, by chance, so that what failed together does not come back together.
JITTER: Final = 0.2
#: The longest wait that an answer may ask for, in seconds.
MAX_ASKED_S: Final = 3_600.0
#: The address is gone for good: Standard Webhooks has the sender stop.
GONE: Final = 410
TOO_MANY: Final = 429


def is_accepted(status: int) -> bool:
    """Return whether a status accepts the message. A redirect does not, for none is followed."""
    return 200 <= status < 300


def wants_no_more(status: int) -> bool:
    """Return whether a status asks for no further message."""
    return status == GONE


def wait_s(before: int, asked_s: float, *, chance: float) -> float:
    """Return how long to wait before a message is sent again, in seconds.

    The second time it is 30 s and up to a fifth more; an answer that asks for 90 s then gets them.

    Args:
        before: How often it was sent before without success.
        asked_s: What the answer asks for.
        chance: A random number in 0..1.
    """
    wait = WAITS_S[min(before, len(WAITS_S) - 1)] * (1 + JITTER * chance)
    return max(wait, min(asked_s, MAX_ASKED_S))


def read_retry_after(written: str) -> float:
    """Return the seconds that a Retry-After header asks for, 0 if it names none. A date is none.

    >>> read_retry_after("120"), read_retry_after("Fri, 27 Nov 2026 17:00:00 GMT")
    (120.0, 0.0)
    """
    text = written.strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0.0


def outcome_of(status: int) -> Literal["answered", "limited", "rejected", "failed"]:
    """Return what a call is counted as, by its status, 0 if there was none."""
    if is_accepted(status):
        return "answered"
    if status == TOO_MANY:
        return "limited"
    return "rejected" if 300 <= status < 500 else "failed"
