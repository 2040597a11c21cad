"""A board in this process, for tests. It also shows what a board does without any Lua."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from querymill_shared.board import keys
from querymill_shared.board.calls import DEAD_TTL_MS, SETTLE_GRACE_MS, SETTLE_MARGIN_MS, last_event
from querymill_shared.board.picture import Claim, Due, Outcome, Picture, Record, Step, Verdict
from querymill_shared.contracts.errors import IdempotencyConflict, UnknownJob
from querymill_shared.contracts.events import Event, Hits, ProgressEvent, Queued, StageFinished, StageStarted
from querymill_shared.contracts.jobs import JobRequest, fingerprint
from querymill_shared.hits import BoardHit
from querymill_shared.settings import Settings

DEADLINE, SETTLE = "@deadline", "@settle"


@dataclass(slots=True)
class _Job:
    record: Record
    request: JobRequest
    steps: dict[str, Step]
    leases: dict[str, float] = field(default_factory=dict)
    due: dict[str, float] = field(default_factory=dict)
    rings: dict[str, int] = field(default_factory=dict)
    hits: dict[str, tuple[BoardHit, ...]] = field(default_factory=dict)
    queries: dict[str, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    result: str | None = None
    expires: float | None = None

    def holds(self, held: Claim) -> bool:
        """Whether this attempt still holds the step: the fence."""
        step = self.steps[held.step]
        return not self.record.is_over and step.state == "running" and step.attempt == held.attempt


class MemoryBoard:
    """`Board` without a server. ``clock`` returns seconds since the epoch."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._clock = clock
        self._jobs: dict[str, _Job] = {}
        self._idempotency: dict[str, tuple[str, str]] = {}
        self._collections: set[tuple[str, str]] = set()
        self._changed = threading.Condition(threading.RLock())

    def submit(self, request: JobRequest, *, idempotency_key: str | None = None) -> tuple[str, bool]:
        """See `Board.submit`."""
        with self._changed:
            digest = fingerprint(request)
            scope = f"{request.collection}\n{idempotency_key}"
            if idempotency_key is not None and scope in self._idempotency:
                job_id, first = self._idempotency[scope]
                if first != digest:
                    raise IdempotencyConflict(idempotency_key, job_id)
                return job_id, False
            job_id = keys.new_job_id(None if idempotency_key is None else scope)
            if idempotency_key is not None:
                self._idempotency[scope] = (job_id, digest)
            self._jobs[job_id] = self._new_job(job_id, request)
            return job_id, True

    def _new_job(self, job_id: str, request: JobRequest) -> _Job:
        now = self._clock()
        deadline = None if request.deadline is None else now + request.deadline
        steps = {name: Step(name, "waiting", 0) for name in request.steps}
        record = Record(
            job_id,
            request.kind,
            request.collection,
            request.lane,
            "queued",
            now,
            deadline,
            None,
            "",
            len(steps),
        )
        job = _Job(record, request, steps)
        job.due = dict.fromkeys(steps, now + self._settings.querymill_ring_grace_s)
        if request.deadline is not None:
            margin = min(SETTLE_MARGIN_MS / 1000, request.deadline / 2)
            job.due[DEADLINE] = now + request.deadline - margin
        job.events.append(Queued(stages=request.steps))
        return job

    def claim(self, job_id: str, step: str) -> Claim | None:
        """See `Board.claim`."""
        with self._changed:
            job, now = self._live(job_id), self._clock()
            if job is None or job.record.is_over or step not in job.steps:
                return None
            deadline, known = job.record.deadline, job.steps[step]
            late = deadline is not None and now >= deadline
            held = known.state == "running" and job.leases[step] > now
            if late or held or known.is_closed:
                return None
            taken = replace(known, state="running", attempt=known.attempt + 1, started=now)
            job.steps[step] = taken
            job.record = replace(job.record, state="running")
            job.leases[step] = job.due[step] = now + self._settings.querymill_lease_s
            self._tell(job, StageStarted(stage=step, attempt=taken.attempt))
            expires_at = None if deadline is None else time.monotonic() + deadline - now
            return Claim(job_id, step, taken.attempt, job.request, expires_at, job.record.created)

    def extend(self, held: Claim) -> bool:
        """See `Board.extend`."""
        with self._changed:
            job = self._live(held.job_id)
            if job is None or not job.holds(held):
                return False
            until = self._clock() + self._settings.querymill_lease_s
            job.leases[held.step] = job.due[held.step] = until
            return True

    def take_queries(self, held: Claim, texts: Sequence[str]) -> list[str]:
        """See `Board.take_queries`."""
        with self._changed:
            job = self._live(held.job_id)
            if job is None or job.record.is_over:
                return []
            return [text for text in texts if job.queries.setdefault(text, held.step) == held.step]

    def finish(self, held: Claim, outcome: Outcome) -> Picture | None:
        """See `Board.finish`."""
        with self._changed:
            job = self._live(held.job_id)
            if job is None or not job.holds(held):
                return None
            now = self._clock()
            step = job.steps[held.step]
            job.steps[held.step] = replace(
                step, state=outcome.state, reason=outcome.reason, ended=now, notes=dict(outcome.notes)
            )
            job.hits.update(outcome.hits)
            job.due.pop(held.step, None)
            reason = outcome.reason or None
            self._tell(job, StageFinished(stage=held.step, state=outcome.state, ms=outcome.ms, reason=reason))
            job.record = replace(job.record, open_steps=job.record.open_steps - 1)
            if job.record.open_steps <= 0:
                job.due[SETTLE] = now + SETTLE_GRACE_MS / 1000
            return _picture(job)

    def add_steps(self, job_id: str, names: Sequence[str]) -> list[str]:
        """See `Board.add_steps`."""
        with self._changed:
            job = self._live(job_id)
            if job is None or job.record.is_over:
                return []
            added = [name for name in dict.fromkeys(names) if name not in job.steps]
            job.steps |= {name: Step(name, "waiting", 0) for name in added}
            job.due |= dict.fromkeys(added, self._clock() + self._settings.querymill_ring_grace_s)
            job.record = replace(job.record, open_steps=job.record.open_steps + len(added))
            if added:
                job.due.pop(SETTLE, None)
            return added

    def postpone(self, held: Claim, *, delay_s: float, reason: str) -> bool:
        """See `Board.postpone`."""
        with self._changed:
            job = self._live(held.job_id)
            if job is None or not job.holds(held):
                return False
            job.steps[held.step] = replace(job.steps[held.step], state="waiting", reason=reason)
            job.due[held.step] = self._clock() + delay_s
            self._tell(job, StageFinished(stage=held.step, state="retrying", reason=reason))
            return True

    def tell(self, job_id: str, event: ProgressEvent, *, held: Claim | None = None) -> bool:
        """See `Board.tell`."""
        with self._changed:
            job = self._live(job_id)
            if job is None or job.record.is_over or (held is not None and not job.holds(held)):
                return False
            if isinstance(event, Hits):
                job.record = replace(job.record, told=self._clock())
            self._tell(job, event)
            return True

    def settle(self, job_id: str, verdict: Verdict) -> bool:
        """See `Board.settle`."""
        with self._changed:
            job, now = self._live(job_id), self._clock()
            if job is None or job.record.is_over:
                return False
            job.record = replace(job.record, state=verdict.state, reason=verdict.reason, ended=now)
            job.result = verdict.result or None
            job.due.clear()
            ttl = DEAD_TTL_MS / 1000 if verdict.state == "dead" else self._settings.querymill_result_ttl_s
            job.expires = now + ttl
            self._tell(job, last_event(verdict))
            return True

    def release(self, job_id: str) -> bool:
        """See `Board.release`."""
        with self._changed:
            job = self._live(job_id)
            if job is None or not job.record.is_over:
                return False
            del self._jobs[job_id]
            return True

    def picture(self, job_id: str) -> Picture:
        """See `Board.picture`."""
        with self._changed:
            job = self._live(job_id)
            if job is None:
                raise UnknownJob(job_id)
            return _picture(job)

    def events(self, job_id: str, *, after: str = "0-0", wait_s: float = 0) -> list[tuple[str, Event]]:
        """See `Board.events`."""
        seen = int(after.split("-")[0])
        with self._changed:
            job = self._live(job_id)
            if job is None:
                return []
            self._changed.wait_for(lambda: len(job.events) > seen, timeout=wait_s)
            return [(f"{number}-0", event) for number, event in enumerate(job.events, 1) if number > seen]

    def ended(self, job_id: str, *, wait_s: float = 0) -> Event | None:
        """See `Board.ended`."""
        with self._changed:
            job = self._live(job_id)
            if job is None:
                return None
            self._changed.wait_for(lambda: job.record.is_over, timeout=wait_s)
            return job.events[-1] if job.record.is_over else None

    def result(self, job_id: str) -> str | None:
        """See `Board.result`."""
        with self._changed:
            job = self._live(job_id)
            return None if job is None else job.result

    def recent(self, *, most: int = 20) -> list[str]:
        """See `Board.recent`."""
        with self._changed:
            newest = sorted(self._jobs, key=lambda job_id: -self._jobs[job_id].record.created)
            return newest[:most]

    def due(self) -> list[Due]:
        """See `Board.due`."""
        with self._changed:
            now = self._clock()
            taken = [(job, name) for job in self._jobs.values() for name, at in job.due.items() if at <= now]
            for job, name in taken:
                job.rings[name] = job.rings.get(name, 0) + 1
                wait = self._settings.querymill_ring_grace_s * 2 ** min(job.rings[name], 10)
                job.due[name] = now + min(wait, 60)
            return [
                Due(job.record.job_id, None if name.startswith("@") else name, past_deadline=name == DEADLINE)
                for job, name in taken
            ]

    def add_collections(self, kind: str, collections: Sequence[str]) -> None:
        """See `Board.add_collections`."""
        self._collections.update((kind, name) for name in collections)

    def collections(self, kind: str) -> set[str]:
        """See `Board.collections`."""
        return {name for of_kind, name in self._collections if of_kind == kind}

    def _live(self, job_id: str) -> _Job | None:
        job = self._jobs.get(job_id)
        if job is not None and job.expires is not None and job.expires <= self._clock():
            del self._jobs[job_id]
            return None
        return job

    def _tell(self, job: _Job, event: Event) -> None:
        job.events.append(event)
        self._changed.notify_all()


def _picture(job: _Job) -> Picture:
    request = None if job.record.state == "done" else job.request
    return Picture(job.record, tuple(job.steps.values()), dict(job.hits), dict(job.queries), request)
