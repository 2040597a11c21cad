"""A job of the board in memory."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from querymill_shared.board.attempts import append_past, encode_facts, encode_past
from querymill_shared.board.calls import (
    MAX_KEPT_REQUEST_BYTES,
    SETTLE_GRACE_MS,
    SETTLE_MARGIN_MS,
    TELL_EVERY_MS,
)
from querymill_shared.board.joining import reads_only
from querymill_shared.board.memory_counts import MemoryBells
from querymill_shared.board.picture import Alone, Claim, Counts, Outcome, Picture, Record, Step, Together
from querymill_shared.contracts.events import Event, Progress, Queued
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.hits import BoardHit
from querymill_shared.queues import Queue

DEADLINE, SETTLE = "@deadline", "@settle"


@dataclass(slots=True)
class MemoryJob:
    """All that the board keeps of one job."""

    record: Record
    request: JobRequest
    steps: dict[str, Step]
    queues: dict[str, Queue] = field(default_factory=dict)
    leases: dict[str, float] = field(default_factory=dict)
    due: dict[str, float] = field(default_factory=dict)
    rings: dict[str, int] = field(default_factory=dict)
    hits: dict[str, tuple[BoardHit, ...]] = field(default_factory=dict)
    queries: dict[str, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    events_before: int = 0
    result: str | None = None
    expires: float | None = None
    #: Whether it holds a forgotten text. If only in part, its request is without it by now.
    forgotten: Literal["", "in part", "wholly"] = ""
    #: The ids of the documents that were forgotten since it was accepted, and whether it is a write of theirs.
    forgets: tuple[str, ...] | None = None
    is_forgotten_write: bool = False
    #: Whether nobody knows any more what it asked: its idempotency key leads to it, whatever is asked with that.
    is_asked_forgotten: bool = False
    reached: dict[str, int] = field(default_factory=dict)
    replayed: float | None = None
    #: Those who still want the work, once another job has joined it.
    callers: set[str] = field(default_factory=set)
    bells: MemoryBells = field(default_factory=MemoryBells)
    is_asked_kept: bool = True
    accepted_us: int = 0

    @property
    def since(self) -> float:
        """When the job was accepted, or replayed."""
        return self.record.created if self.replayed is None else self.replayed

    def is_due_to_tell(self, now: float) -> bool:
        """Whether nothing was told for a while."""
        told = self.record.told
        return told is None or now - told >= TELL_EVERY_MS / 1000

    def holds(self, held: Claim) -> bool:
        """Whether this attempt still holds the step: the fence."""
        step = self.steps[held.step]
        return not self.record.is_over and step.state == "running" and step.attempt == held.attempt

    def claim(self, step: str, life: str, now: float, lease_s: float, together: Together) -> Claim:
        """Begin an attempt at a step, and hold it until its lease ends."""
        request, deadline, alone = self.request, self.record.deadline, self._alone_of(step, now)
        attempt, counts = self.steps[step].attempt + 1, self.steps[step].counts
        self.steps[step] = replace(self.steps[step], state="running", attempt=attempt, started=now, life=life)
        self.leases[step] = self.due[step] = now + lease_s
        expires_at = None if deadline is None else time.monotonic() + deadline - now
        age_s, submitted = now - self.since, self.record.created
        return Claim(
            self.record.job_id, step, attempt, request, expires_at, submitted, life, counts, age_s, together, alone
        )

    def close(self, held: Claim, outcome: Outcome, now: float) -> None:
        """Close a step with its outcome."""
        self.steps[held.step] = replace(
            self.steps[held.step], state=outcome.state, reason=outcome.reason, ended=now, notes=dict(outcome.notes),
            facts=encode_facts(outcome.code, outcome.parts),
        )  # fmt: skip
        self.hits.update(outcome.hits)
        self.due.pop(held.step, None)
        self.record = replace(self.record, open_steps=self.record.open_steps - 1)
        if self.record.open_steps <= 0:
            self.due[SETTLE] = now + SETTLE_GRACE_MS / 1000

    def _alone_of(self, step: str, now: float) -> Alone | None:
        """Return what the attempt at a step knows that begins now, if it is the first and the step is the only one."""
        if len(self.steps) > 1 or self.steps[step].attempt or self.replayed is not None:
            return None
        return Alone(self.record.created, now, now - time.monotonic())

    def runs(self, name: str, life: str) -> bool:
        """Whether a step is held by a worker process."""
        return not self.record.is_over and self.steps[name].state == "running" and self.steps[name].life == life

    def untried(self, queue: Queue | None) -> list[str]:
        """Return the steps of a queue that wait for their first attempt."""
        fresh = [step.name for step in self.steps.values() if step.state == "waiting" and not step.attempt]
        return [name for name in fresh if queue is not None and self.queues.get(name) == queue]

    def take_queries(self, step: str, texts: Sequence[str]) -> list[str]:
        """Return the queries that no other step has taken or searched."""
        fresh = [text for text in texts if text not in self.hits]
        return [text for text in fresh if self.queries.setdefault(text, step) == step]

    def waiting_queues(self) -> list[str]:
        """Return the queues on which steps wait."""
        waiting = [name for name, step in self.steps.items() if step.state == "waiting" and name in self.queues]
        return list(dict.fromkeys(self.queues[name].value for name in waiting))

    def note_progress(self, progress: Progress) -> None:
        """Give a step that came further than ever before all its attempts again."""
        if progress.done > self.reached.get(progress.stage, 0) and progress.stage in self.steps:
            self.reached[progress.stage] = progress.done
            step = self.steps[progress.stage]
            self.steps[step.name] = replace(step, counts=replace(step.counts, deaths=0, failures=0))

    def put_back(
        self, name: str, now: float, counter: str, reason: str, *, facts: str = "", delay_s: float = 0.0
    ) -> None:  # fmt: skip
        """Have a step wait again, count why, and keep its attempt."""
        step = self.steps[name]
        counts = replace(step.counts, **{counter: getattr(step.counts, counter) + 1})
        self.steps[name] = replace(
            step, state="waiting", reason=reason, counts=counts, queued=now + delay_s,
            past=self._past(step, now, counter, reason, facts),
        )  # fmt: skip

    def _past(self, step: Step, ended: float, cause: str, reason: str, facts: str) -> str:
        line = encode_past(
            step.attempt, _ms(step.queued), _ms(step.started), step.life, round(ended * 1000), cause, reason, facts
        )
        return append_past(step.past, line)

    def replay(self, now: float) -> None:
        """Open a dead job again: what is not done waits, is due now, and has all its attempts."""
        for name, step in self.steps.items():
            if step.state != "done":
                is_failed = step.state == "failed"
                self.steps[name] = Step(
                    name, "waiting", step.attempt, started=step.started, counts=Counts(pauses=step.counts.pauses),
                    queued=now if is_failed else step.queued, life=step.life,
                    past=self._past(step, step.ended or now, "failures", "", step.facts) if is_failed else step.past,
                )  # fmt: skip
                self.due[name] = now
        opened = len(self.due)
        if not opened:
            self.due[SETTLE] = now
        deadline = None if self.record.deadline is None else now + self.record.deadline - self.since
        if deadline is not None:
            self.due[DEADLINE] = deadline - min(SETTLE_MARGIN_MS / 1000, (deadline - now) / 2)
        self.record = replace(
            self.record, state="queued", reason="", ended=None, told=None, open_steps=opened, deadline=deadline, code=""
        )
        self.replayed, self.result, self.expires = now, None, None
        self.rings.clear()
        # Those who had joined the job have been told that it failed.
        self.callers.clear()
        self.record = replace(self.record, left=None, is_released=False)
        self.events_before += len(self.events)
        self.events.clear()

    @property
    def has_not_begun(self) -> bool:
        """Whether no attempt at any step has done more than to put the step back: see the script `submit`."""
        return all(
            step.state == "waiting" and step.attempt <= step.counts.conflicts + step.counts.pauses
            for step in self.steps.values()
        )

    def needs_a_bell(self, name: str, now: float, queued_since: Mapping[str, float]) -> bool:
        """Whether the queue of a step holds no bell for it. If so, it is rung now."""
        queue = self.queues.get(name)
        return queue is None or self.bells.need(self.steps[name], queue, self.record.created, now, queued_since)

    def forget_work(self) -> None:
        """Drop what the steps found and noted. Of a job that is done, it is in the result."""
        self.steps = {name: replace(step, notes={}) for name, step in self.steps.items()}
        self.is_asked_kept = reads_only(self.request) and len(self.request.model_dump_json()) <= MAX_KEPT_REQUEST_BYTES
        self.hits, self.queries, self.queues = {}, {}, {}

    def scrub(self, *, is_write: bool) -> None:
        """Keep only how the job ended."""
        self.forgotten, self.forgets = "", None
        self.is_asked_kept = self.is_asked_kept and not is_write
        self.is_asked_forgotten = self.is_asked_forgotten or is_write
        self.steps = {name: replace(step, reason="", facts="", past="", notes={}) for name, step in self.steps.items()}
        self.events_before += len(self.events) - 1
        self.events = self.events[-1:]

    def picture(self) -> Picture:
        """Return a snapshot. The request of a job that is done is dropped."""
        request = None if self.record.state == "done" else self.request
        queues = {step: queue.value for step, queue in self.queues.items()}
        asked = self.request if self.is_asked_kept else None
        return Picture(
            self.record, tuple(self.steps.values()), dict(self.hits), dict(self.queries), request, queues=queues,
            asked=asked,
        )  # fmt: skip


def new_job(job_id: str, request: JobRequest, *, now: float, ring_grace_s: float) -> MemoryJob:
    """Return a job as it is when it is accepted."""
    deadline = None if request.deadline is None else now + request.deadline
    steps = {name: Step(name, "waiting", 0, queued=now) for name in request.steps}
    kind, collection, lane = request.kind, request.collection, request.lane
    record = Record(job_id, kind, collection, lane, "queued", now, deadline, None, "", len(steps))
    job = MemoryJob(record, request, steps, {name: request.queue_of(name) for name in steps})
    job.due = dict.fromkeys(steps, now + ring_grace_s)
    if request.deadline is not None:
        margin = min(SETTLE_MARGIN_MS / 1000, request.deadline / 2)
        job.due[DEADLINE] = now + request.deadline - margin
    job.events.append(Queued(stages=request.steps))
    return job


def newest_jobs(jobs: Iterable[MemoryJob]) -> list[str]:
    """Return the ids of jobs, the newest first."""
    return [job.record.job_id for job in sorted(jobs, key=lambda job: -job.record.created)]


def held_by(life: str, jobs: Iterable[MemoryJob]) -> list[tuple[MemoryJob, str]]:
    """Return the steps that a worker process holds, with their jobs."""
    return [(job, name) for job in jobs for name in job.steps if job.runs(name, life)]


def dead_jobs(jobs: Iterable[MemoryJob]) -> list[str]:
    """Return the ids of dead jobs, the one that died last first."""
    dead = [job.record for job in jobs if job.record.state == "dead"]
    return [record.job_id for record in sorted(dead, key=lambda record: -(record.ended or 0))]


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)
