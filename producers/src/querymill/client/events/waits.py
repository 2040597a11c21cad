"""What a caller that waits for a job has heard of it so far."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from querymill_shared.board.watching import Seen, StreamedEvent, Subscription

#: Before the first event of any job.
BEGINNING: Final = "0-0"


@dataclass(frozen=True, slots=True)
class Heard:
    """New events of a job in order. For who waits for its end: the last one, and the result as JSON if there is one."""

    told: Sequence[StreamedEvent]
    result: str | None = None


#: What a caller receives: news of its job, or why there will be none.
Delivery = Heard | Exception


class EventOrder:
    """Puts the events of one job into their order, each once.

    They arrive in two ways: in the board's reply to a look, and as events after it. An event that arrives before the
    reply must wait for it. An event that is not the next by its count shows that one was missed: another look is due.

    A board that has lost its last second, and its clock with it, may give what comes then an id before those that were
    told, or one of these again. It replies with all that it holds, and what was not told yet is.
    """

    def __init__(self, after: str = BEGINNING) -> None:
        self.after = after
        self.is_caught_up = False
        self._count = 0
        self._early: list[StreamedEvent] = []
        self._known: set[tuple[str, str, str]] = set()

    def seen(self, seen: Seen) -> list[StreamedEvent]:
        """Take the reply to a look at everything after ``after``, or after an earlier event."""
        new = [told for told in seen.told if is_later(told.event_id, self.after)]
        if not new:
            new = [told for told in seen.told if _identity(told) not in self._known]
        if new:
            self.after = new[-1].event_id
            self._known.update(map(_identity, new))
        self._count = seen.count
        self.is_caught_up = True
        early, self._early = self._early, []
        return new + [told for waiting in early for told in self.told(waiting)]

    def told(self, told: StreamedEvent) -> list[StreamedEvent]:
        """Take an event that was told. Return those whose turn it is."""
        if not self.is_caught_up:
            self._early.append(told)
            return []
        if not is_later(told.event_id, self.after):
            return []
        if told.count != self._count + 1:
            self.is_caught_up = False
            self._early = [told]
            return []
        self.after, self._count = told.event_id, told.count
        self._known.add(_identity(told))
        return [told]


def _identity(told: StreamedEvent) -> tuple[str, str, str]:
    return told.event_id, told.type, told.body


def is_later(event_id: str, than: str) -> bool:
    """Whether an event has a later id than another: two numbers with a hyphen between."""
    return _numbers(event_id) > _numbers(than)


def _numbers(event_id: str) -> tuple[int, int]:
    high, _, low = event_id.partition("-")
    return int(high), int(low)


class Wait:
    """One caller that waits for a job. ``since`` is when it began, on the monotonic clock, in seconds.

    If it wants every event, it gets those after the event ``after``.
    """

    __slots__ = (
        "_end_only",
        "deliver",
        "every_event",
        "is_asked",
        "is_registered",
        "job_id",
        "order",
        "part",
        "since",
        "unattended",
    )

    def __init__(
        self,
        job_id: str,
        deliver: Callable[[Delivery], None],
        *,
        every_event: bool,
        since: float,
        after: str = BEGINNING,
    ) -> None:
        self.job_id = job_id
        self.every_event = every_event
        self.deliver = deliver
        self.since = since
        self.order = EventOrder(after)
        #: Whether the board knows of this wait, and whether a look is to be made for it.
        self.is_registered = False
        self.is_asked = False
        #: The queues on which its job waits, but no worker listens.
        self.unattended: tuple[str, ...] = ()
        #: In which part of the checks it is looked at.
        self.part = 0
        self._end_only = Subscription(job_id, every_event=False)

    @property
    def look(self) -> Subscription:
        """What to ask the board."""
        return (
            Subscription(self.job_id, every_event=True, after=self.order.after) if self.every_event else self._end_only
        )
