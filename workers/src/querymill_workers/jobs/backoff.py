"""How long a step waits before its next attempt, and when it gets none."""

from typing import Final

from querymill_shared.board import Cause, SetbackCounts
from querymill_shared.board.calls import COUNTERS
from querymill_workers.jobs.faults import Unavailable

#: Waits before the next attempt in seconds: after the first time, the second, and so on; the last one stays. They are
#: short for a job with a deadline, because a user waits for it. The others survive the restart of a provider.
WAITS_S: Final[dict[Cause, tuple[float, ...]]] = {
    "failure": (0.25, 0.5, 1.0, 2.0, 5.0),
    "outage": (0.25, 0.5, 1.0, 2.0, 5.0),
    "conflict": (0.1, 0.2, 0.4, 0.8, 1.5),
    "pause": (1.0,),
}
DURABLE_WAITS_S: Final[dict[Cause, tuple[float, ...]]] = {
    "failure": (1.0, 10.0, 30.0, 60.0),
    "outage": (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0),
    "conflict": (0.1, 0.2, 0.4, 0.8, 1.5, 3.0),
    "pause": (1.0,),
}
#: A wait is cut by up to this share, by chance, so that those who failed together do not meet again.
JITTER: Final = 0.5
#: A job with less than this left before its deadline is not tried again, in seconds.
TOO_LATE_S: Final = 0.25


def wait_s(cause: Cause, before: int, *, is_durable: bool, chance: float) -> float:
    """Return how long to wait, in seconds.

    Args:
        cause: Why the step is put back.
        before: How often it was put back for this cause before.
        is_durable: Whether the job has no deadline.
        chance: A random number in 0..1.
    """
    waits = (DURABLE_WAITS_S if is_durable else WAITS_S)[cause]
    return waits[min(before, len(waits) - 1)] * (1 - JITTER * chance)


def soonest_again_s(error: Unavailable, counts: SetbackCounts) -> float:
    """Return after how many seconds, at the soonest, a step of a job with a deadline is tried again."""
    before = getattr(counts, COUNTERS[error.cause])
    return max(error.again_in_s, wait_s(error.cause, before, is_durable=False, chance=1.0))


def within(wait: float, left_s: float | None, *, not_before_s: float) -> float | None:
    """Fit a wait before the deadline, which is ``left_s`` seconds away, or None if there is none.

    A wait of the step's own choice is cut to half of the time that is left, so that the last attempt is not missed.
    With 6 s left, a wait of 5 s becomes 3 s. Returns None if too little is left, or if the provider asks for a longer
    wait.
    """
    if left_s is None:
        return max(wait, not_before_s)
    if left_s < TOO_LATE_S or not_before_s >= left_s:
        return None
    return max(min(wait, left_s / 2), not_before_s)


def is_used_up(cause: Cause, counts: SetbackCounts, *, max_attempts: int, age_s: float, patience_s: float) -> bool:
    """Return whether a step that is to be put back once more has used up its attempts, or its patience.

    A failure uses up an attempt: after a death and two failures, the fourth attempt was the last of four. Outages and
    conflicts are waited out until the job is ``patience_s`` seconds old. A pause has an end of its own, such as that of
    the day for a budget that is used up.
    """
    if cause == "pause":
        return False
    if cause == "failure":
        return counts.spent + 1 >= max_attempts
    return age_s >= patience_s
