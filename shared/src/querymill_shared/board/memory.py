"""A board in this process, for tests. It also shows what a board does without any Lua."""

import math
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from querymill_shared.board import keys
from querymill_shared.board.attempts import Part, encode_facts
from querymill_shared.board.calls import (
    COUNTERS,
    HELD_S,
    LEASE_RAN_OUT,
    NO_BACKLOG,
    finished,
)
from querymill_shared.board.counts import JobCounts
from querymill_shared.board.endings import OnEnd, log_end
from querymill_shared.board.lives import CLAIM_LOST, SILENT, WORKER_DIED, WORKER_STOPPED
from querymill_shared.board.memory_collections import MemoryCollections
from querymill_shared.board.memory_counts import MemoryBacklog, MemoryCounts
from querymill_shared.board.memory_forgetting import MemoryForgetting
from querymill_shared.board.memory_job import DEADLINE, SETTLE, MemoryJob, dead_jobs, held_by, new_job, newest_jobs
from querymill_shared.board.memory_joining import SharedWork
from querymill_shared.board.memory_lives import MemoryLives
from querymill_shared.board.memory_ordering import MemoryClock, MemoryVersions
from querymill_shared.board.ordering import LargestStored, nothing_stored
from querymill_shared.board.picture import (
    Cause,
    Claim,
    Claims,
    Due,
    Outcome,
    Picture,
    Step,
    Together,
    Verdict,
    WorkerLife,
)
from querymill_shared.contracts.codes import Code
from querymill_shared.contracts.errors import IdempotencyConflict, UnknownJob
from querymill_shared.contracts.events import Event, Hits, Progress, ProgressEvent, Queued, StageFinished, StageStarted
from querymill_shared.contracts.jobs import JobRequest, fingerprint
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings


class MemoryBoard(MemoryForgetting, MemoryCollections):
    """`Board` without a server. ``clock`` returns seconds since the epoch."""

    def __init__(
        self, settings: Settings, *, clock: Callable[[], float] = time.time, on_end: OnEnd = log_end,
        largest_stored: LargestStored = nothing_stored,
    ) -> None:  # fmt: skip
        super().__init__()
        self._settings = settings
        self._clock = clock = MemoryClock(clock)
        self._versions = MemoryVersions(largest_stored)
        self._on_end = on_end
        self._counts = MemoryCounts()
        self._jobs: dict[str, MemoryJob] = {}
        self._idempotency: dict[str, tuple[str, str]] = {}
        self._lives = MemoryLives()
        self._backlog = MemoryBacklog()
        self._changed = threading.RLock()
        self._shared = SharedWork(self._jobs, settings, clock, self._tell_one, self._count_end)
        self.watched = self._shared.watched
        #: Called with a job's id, the number of an event and the event.
        self.listeners: list[Callable[[str, int, Event], None]] = []

    def submit(self, request: JobRequest, *, idempotency_key: str | None = None) -> tuple[str, bool]:
        """See `Board.submit`."""
        with self._changed:
            digest = fingerprint(request)
            scope = f"{request.collection}\n{idempotency_key}"
            job_id, first = self._idempotency.get(scope, ("", ""))
            prior = self._live(job_id)
            if idempotency_key is not None and prior is not None and not prior.record.is_released:
                if first != digest and not prior.is_asked_forgotten:
                    raise IdempotencyConflict(idempotency_key, job_id)
                return job_id, False
            job_id = keys.new_job_id()
            starts_work = not self._shared.join(request, digest, job_id)
            if starts_work:
                now = self._clock()
                self._backlog.refuse_late(request, now)
                self._shared.lead(request, digest, job_id)
                grace_s = self._settings.querymill_ring_grace_s
                self._jobs[job_id] = new_job(job_id, request, now=now, ring_grace_s=grace_s)
                self._jobs[job_id].accepted_us = self._versions.accept(request, now)
            if idempotency_key is not None:
                self._idempotency[scope] = (job_id, digest)
            self._counts.add(f"submitted/{request.kind}")
            return job_id, starts_work

    def claim(self, job_id: str, step: str) -> Claim | None:
        """See `Board.claim`."""
        held = self.claim_steps(job_id, step, life="", most=1).held
        return held[0] if held else None

    def claim_steps(self, job_id: str, step: str, *, life: str, most: int) -> Claims:
        """See `Board.claim_steps`."""
        with self._changed:
            job, now = self._live(job_id), self._clock()
            if job is None or job.record.is_over or step not in job.steps:
                return Claims()
            deadline, known = job.record.deadline, job.steps[step]
            held = known.state == "running" and job.leases[step] > now
            if held or known.is_closed or (deadline is not None and now >= deadline):
                return Claims()
            if known.state == "running":  # its lease ran out, so the worker that held it is dead
                job.put_back(step, now, "deaths", LEASE_RAN_OUT)
            self._counts.add("leases_lost", int(known.state == "running"))
            job.record = replace(job.record, state="running")
            fresh = [name for name in job.untried(job.queues.get(step)) if name != step]
            names = (step, *fresh[: most - 1])
            together = Together(frozenset(names))
            held_now = tuple(self._hold(job, name, life, together) for name in names)
            left = fresh[most - 1] if len(fresh) >= most else None
            if left is not None:
                job.bells.note(job.queues[left], now)
            return Claims(held_now, left)

    def _hold(self, job: MemoryJob, step: str, life: str, together: Together) -> Claim:
        lease_s = HELD_S if life else self._settings.querymill_lease_s
        version, ahead_s = self._versions.of(job.request, job.accepted_us), self._clock.ahead_s
        held = replace(job.claim(step, life, self._clock(), lease_s, together), accepted_us=version, ahead_s=ahead_s)
        self._tell(job, StageStarted(stage=step, attempt=held.attempt))
        return held

    def beat(self, life: str, about: Mapping[str, Any]) -> list[str]:
        """See `Board.beat`."""
        silent_s = self._settings.querymill_lease_s * SILENT
        with self._changed:
            return self._lives.beat(life, about, now=self._clock(), silent_s=silent_s)

    def workers(self) -> list[WorkerLife]:
        """See `Board.workers`."""
        with self._changed:
            return self._lives.workers(self._clock())

    def waiting_queues(self, job_id: str) -> list[str]:
        """Return the queues on which steps of a job wait."""
        with self._changed:
            job = self._live(job_id)
            if job is None or job.record.is_over:
                return []
            return self._shared.work_of(job).waiting_queues()

    def bury(self, life: str, *, planned: bool = False) -> list[tuple[str, str]]:
        """See `Board.bury`."""
        with self._changed:
            self._lives.forget(life)
            held = held_by(life, self._jobs.values())
            self._counts.add("leases_lost", 0 if planned else len(held))
            counter, reason = ("pauses", WORKER_STOPPED) if planned else ("deaths", WORKER_DIED)
            return self._put_back(held, counter, reason)

    def put_back_lost(self, life: str, kept: Collection[Claim], *, held_for_s: float) -> list[tuple[str, str]]:
        """See `Board.put_back_lost`."""
        known = {(claim.job_id, claim.step) for claim in kept}
        with self._changed:
            until = self._clock() - held_for_s
            old = [
                held for held in held_by(life, self._jobs.values()) if (held[0].steps[held[1]].started or 0) <= until
            ]
            lost = [(job, name) for job, name in old if (job.record.job_id, name) not in known]
            return self._put_back(lost, "outages", CLAIM_LOST)

    def _put_back(self, held: Sequence[tuple[MemoryJob, str]], counter: str, reason: str) -> list[tuple[str, str]]:
        for job, name in held:
            job.put_back(name, self._clock(), counter, reason)
            job.due[name] = self._clock()
            self._tell(job, StageFinished(stage=name, state="retrying", reason=reason))
        return [(job.record.job_id, name) for job, name in held]

    def extend(self, held: Claim) -> bool:
        """See `Board.extend`."""
        with self._changed:
            job = self._live(held.job_id)
            if job is None or not job.holds(held):
                return False
            until = self._clock() + (HELD_S if held.life else self._settings.querymill_lease_s)
            job.leases[held.step] = job.due[held.step] = until
            return True

    def take_queries(self, held: Claim, texts: Sequence[str], *, rivals: Collection[str]) -> list[str]:
        """See `Board.take_queries`."""
        with self._changed:
            job, taken = self._live(held.job_id), held.together.take_queries(held.step, texts, rivals)
            if taken is not None or job is None or job.record.is_over:
                return taken or []
            return job.take_queries(held.step, texts)

    def finish(self, held: Claim, outcome: Outcome, *, verdict: Verdict | None = None) -> Picture | None:
        """See `Board.finish`."""
        with self._changed:
            job = self._live(held.job_id)
            if job is None or not job.holds(held):
                return None
            now = self._clock()
            job.close(held, outcome, now)
            self._tell(job, finished(held, outcome))
            if job.record.open_steps <= 0:
                if verdict is None:
                    return job.picture()
                self.settle(held.job_id, verdict)
                return None
            if outcome.state != "done" or not job.is_due_to_tell(now) or not self._shared.is_followed(job):
                return None
            picture, job.record = job.picture(), replace(job.record, told=now)
            return picture

    def add_steps(
        self, job_id: str, names: Sequence[str], *, queue_of: Callable[[str], Queue] | None = None
    ) -> list[str]:
        """See `Board.add_steps`."""
        with self._changed:
            job = self._live(job_id)
            if job is None or job.record.is_over:
                return []
            added = [name for name in dict.fromkeys(names) if name not in job.steps]
            job.steps |= {name: Step(name, "waiting", 0, queued=self._clock()) for name in added}
            job.queues |= {} if queue_of is None else {name: queue_of(name) for name in added}
            for queue in {job.queues[name] for name in added if name in job.queues}:
                job.bells.note(queue, self._clock())
            job.due |= dict.fromkeys(added, self._clock() + self._settings.querymill_ring_grace_s)
            job.record = replace(job.record, open_steps=job.record.open_steps + len(added))
            if added:
                job.due.pop(SETTLE, None)
            return added

    def postpone(
        self, held: Claim, *, delay_s: float, reason: str, cause: Cause, code: Code | None = None,
        parts: Sequence[Part] = (),
    ) -> bool:  # fmt: skip
        """See `Board.postpone`."""
        with self._changed:
            job = self._live(held.job_id)
            if job is None or not job.holds(held):
                return False
            now, facts = self._clock(), encode_facts(code, parts)
            job.put_back(held.step, now, COUNTERS[cause], reason, facts=facts, delay_s=delay_s)
            job.due[held.step] = now + delay_s
            self._tell(job, StageFinished(stage=held.step, state="retrying", reason=reason, code=code))
            return True

    def tell(self, job_id: str, event: ProgressEvent, *, held: Claim | None = None) -> bool:
        """See `Board.tell`."""
        with self._changed:
            job = self._live(job_id)
            if job is None or job.record.is_over or (held is not None and not job.holds(held)):
                return False
            if isinstance(event, Hits):
                job.record = replace(job.record, told=self._clock())
            if isinstance(event, Progress):
                job.note_progress(event)
            self._tell(job, event)
            return True

    def settle(self, job_id: str, verdict: Verdict) -> bool:
        """See `Board.settle`."""
        with self._changed:
            job = self._live(job_id)
            return job is not None and not job.record.is_over and self._shared.settle(job, verdict)

    def release(self, job_id: str) -> bool:
        """See `Board.release`."""
        with self._changed:
            job = self._live(job_id)
            return job is not None and self._shared.release(job)

    def picture(self, job_id: str) -> Picture:
        """See `Board.picture`."""
        with self._changed:
            job = self._live(job_id)
            if job is None:
                raise UnknownJob(job_id)
            return self._shared.picture(job)

    def events(self, job_id: str, *, after: str = "0-0") -> list[tuple[str, Event]]:
        """See `Board.events`."""
        seen = int(after.split("-")[0])
        with self._changed:
            job = self._live(job_id)
            events = [] if job is None else job.events
            before = 0 if job is None else job.events_before
            return [(f"{number}-0", event) for number, event in enumerate(events, before + 1) if number > seen]

    def has_ended(self, job_id: str) -> bool:
        """See `Board.has_ended`."""
        with self._changed:
            job = self._live(job_id)
            return job is None or job.record.is_over

    def result(self, job_id: str) -> str | None:
        """See `Board.result`."""
        with self._changed:
            job = self._live(job_id)
            return None if job is None else job.result

    def recent(self, *, most: int = 20) -> list[str]:
        """See `Board.recent`."""
        with self._changed:
            return newest_jobs(self._jobs.values())[:most]

    def open_jobs(self, *, most: int = 20) -> list[str]:
        """See `Board.open_jobs`."""
        with self._changed:
            unended = [job for job in self._jobs.values() if not (job.record.is_over or job.record.leader)]
            return newest_jobs(unended)[::-1][:most]

    def dead(self, *, most: int = 20) -> list[str]:
        """See `Board.dead`."""
        with self._changed:
            live = [job for job_id in list(self._jobs) if (job := self._live(job_id))]
            return dead_jobs(live)[:most]

    def replay(self, job_id: str) -> bool:
        """See `Board.replay`."""
        with self._changed:
            job, now = self._live(job_id), self._clock()
            if job is None or job.record.state != "dead":
                return False
            job.replay(now)
            self._tell(job, Queued(stages=tuple(job.steps)))
            return True

    def drop(self, job_id: str) -> bool:
        """See `Board.drop`."""
        with self._changed:
            job = self._live(job_id)
            if job is None or job.record.state != "dead":
                return False
            del self._jobs[job_id]
            return True

    def due_in(self) -> float:
        """See `Board.due_in`."""
        with self._changed:
            return min((at for job in self._jobs.values() for at in job.due.values()), default=math.inf) - self._clock()

    def due(self, *, queued_since: Mapping[str, float] = NO_BACKLOG) -> list[Due]:
        """See `Board.due`."""
        with self._changed:
            now = self._clock()
            taken = [(job, name) for job in self._jobs.values() for name, at in job.due.items() if at <= now]
            for job, name in taken:
                job.rings[name] = job.rings.get(name, 0) + 1
                wait = self._settings.querymill_ring_grace_s * 2 ** min(job.rings[name], 10)
                job.due[name] = now + min(wait, 5 if name == SETTLE and job.record.deadline is not None else 60)
            return [
                Due(job.record.job_id, None if name.startswith("@") else name, past_deadline=name == DEADLINE)
                for job, name in taken
                if name.startswith("@") or job.needs_a_bell(name, now, queued_since)
            ]

    def report_backlog(self, waits: Mapping[str, float]) -> None:
        """See `Board.report_backlog`."""
        with self._changed:
            self._backlog.report(waits, self._clock())

    def counts(self) -> JobCounts:
        """See `Board.counts`."""
        with self._changed:
            dead = sum(job.record.state == "dead" for job in self._jobs.values())
            return self._counts.read(dead, self._clock())

    def _live(self, job_id: str) -> MemoryJob | None:
        job = self._jobs.get(job_id)
        if job is not None and job.expires is not None and job.expires <= self._clock():
            del self._jobs[job_id]
            return None
        return job

    def _count_end(self, job: MemoryJob, verdict: Verdict) -> None:
        self._on_end(self._counts.end(job.record, verdict, steps=len(job.steps)))

    def _tell(self, job: MemoryJob, event: Event) -> None:
        for caller in self._shared.callers_of(job):
            self._tell_one(caller, event)

    def _tell_one(self, job: MemoryJob, event: Event) -> None:
        job.events.append(event)
        for listener in tuple(self.listeners):
            listener(job.record.job_id, len(job.events), event)
