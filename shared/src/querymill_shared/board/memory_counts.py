"""What the board in memory counts, and what it knows of the backlog."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from querymill_shared.board.calls import BACKLOG_TTL_MS
from querymill_shared.board.counts import JobCounts, bound_of, joined, last_minutes
from querymill_shared.board.picture import Ended, Record, Step, Verdict
from querymill_shared.contracts.errors import Overloaded
from querymill_shared.contracts.jobs import JobRequest


class MemoryCounts:
    """The counts of one board; see `counts`."""

    def __init__(self) -> None:
        self._total: Counter[str] = Counter()
        self._minutes: defaultdict[int, Counter[str]] = defaultdict(Counter)

    def add(self, field: str, amount: int = 1) -> None:
        """Add to a field."""
        self._total[field] += amount

    def end(self, record: Record, verdict: Verdict, *, steps: int) -> Ended:
        """Count a job that has ended, and return what is said of it."""
        took_s = (record.ended or record.created) - record.created
        ms = round(took_s * 1000)
        state = verdict.counts_as or verdict.state
        is_incomplete = state == "done" and not verdict.complete
        minute = self._minutes[int(record.ended or record.left or record.created) // 60]
        for field in (f"ended/{record.kind}/{state}", *((f"incomplete/{record.kind}",) if is_incomplete else ())):
            self.add(field)
            minute[field] += 1
        if verdict.state != "cancelled":
            self.add(f"took/{record.kind}/{bound_of(took_s)}")
            self.add(f"took_ms/{record.kind}", ms)
        return Ended(record.job_id, record.kind, record.collection, state, ms, steps, verdict.degraded)

    def read(self, dead_letters: int, now: float) -> JobCounts:
        """Return the counts."""
        lately = sum((self._minutes[minute] for minute in last_minutes(now)), Counter[str]())
        return joined(self._total, dead_letters, lately)


class MemoryBacklog:
    """How long a new bell would wait on each queue, for as long as that was reported lately."""

    def __init__(self) -> None:
        self._until = 0.0
        self._waits: Mapping[str, float] = {}

    def report(self, waits: Mapping[str, float], now: float) -> None:
        """See `Board.report_backlog`."""
        self._until, self._waits = now + BACKLOG_TTL_MS / 1000, dict(waits)

    def refuse_late(self, request: JobRequest, now: float) -> None:
        """Refuse a job that no worker can begin before its deadline.

        Raises:
            Overloaded: It is one.
        """
        if request.deadline is None or self._until <= now:
            return
        wait_s = min(self._waits.get(request.queue_of(step), 0.0) for step in request.steps)
        if wait_s > request.deadline:
            raise Overloaded(wait_s)


class MemoryBells:
    """When the bells of one job were rung again, by queue, and by step for steps that were tried before."""

    def __init__(self) -> None:
        self._rung: dict[str, float] = {}

    def note(self, queue: str, now: float) -> None:
        """Note that a bell is rung for the steps of a queue that nobody has tried."""
        self._rung[f"@{queue}"] = now

    def need(self, step: Step, queue: str, created: float, now: float, queued_since: Mapping[str, float]) -> bool:
        """Return whether the queue holds no bell for a step. If so, note that it is rung now."""
        mark = step.name if step.attempt else f"@{queue}"
        if step.state == "waiting":
            if not step.attempt and self._rung.get(mark) == now:
                return False
            if self._rung.get(mark, created) >= queued_since.get(queue, float("inf")):
                return False
        self._rung[mark] = now
        return True
