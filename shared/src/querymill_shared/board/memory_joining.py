"""Identical work in flight on the board in memory: who shares it, and how each of them ends."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from dataclasses import replace

from pydantic_core import to_json

from querymill_shared.board import joining
from querymill_shared.board.calls import DEAD_TTL_MS, READABLE_MS, last_event
from querymill_shared.board.memory_job import MemoryJob
from querymill_shared.board.picture import Picture, Verdict
from querymill_shared.board.results import readdress
from querymill_shared.contracts.events import Cancelled, Event
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.settings import Settings
from querymill_shared.values import frozen

_DAY_S = 86_400


def _is_named(result: str, names: Collection[str]) -> bool:
    """Return whether a result names one of the documents: see `is_named` in prelude.lua."""
    written = [to_json(name).decode()[1:-1] for name in names]
    return any(form in result for name in written for form in (f'"{name}"', f'"{name}/', f"/{name}/"))


def without_names(result: str, names: Collection[str]) -> str:
    """Return a result without the names of forgotten documents."""
    for name in names:
        result = result.replace(to_json(name).decode(), '"forgotten"')
    return result


@frozen
class _Joinable:
    """Work that may be joined until a time: its leader, the day, and which version of its collection it reads."""

    leader: str
    day: int
    version: int
    until: float


class SharedWork:
    """The part of `MemoryBoard` that knows of followers. Its caller holds the board's lock."""

    def __init__(
        self,
        jobs: dict[str, MemoryJob],
        settings: Settings,
        clock: Callable[[], float],
        tell: Callable[[MemoryJob, Event], None],
        on_end: Callable[[MemoryJob, Verdict], None],
    ) -> None:
        self._jobs = jobs
        self._settings = settings
        self._clock = clock
        self._tell = tell
        self._on_end = on_end
        self._in_flight: dict[str, _Joinable] = {}
        self._changes: Counter[str] = Counter()
        #: Job id to those who watch it, each with whether it hears every event.
        self.watched: defaultdict[str, dict[str, bool]] = defaultdict(dict)

    def join(self, request: JobRequest, digest: str, job_id: str) -> bool:
        """Let a new job follow identical work in flight. Return False if there is none."""
        known = self._in_flight.get(digest)
        leader = None if known is None or known.until <= self._clock() else self._jobs.get(known.leader)
        if known is None or leader is None or leader.record.is_over or leader.forgotten or known.day != self._day:
            return False
        version = self._changes[request.collection]
        if known.version != version and not leader.has_not_begun:
            return False
        self._in_flight[digest] = replace(known, version=version)
        self._follow(leader, job_id)
        return True

    def lead(self, request: JobRequest, digest: str, job_id: str) -> None:
        """Let others follow a new job, if work of its kind is shared."""
        join_s = joining.join_s(request)
        if join_s:
            until = self._clock() + join_s
            self._in_flight[digest] = _Joinable(job_id, self._day, self._changes[request.collection], until)

    @property
    def _day(self) -> int:
        return int(self._clock() // _DAY_S)

    def _follow(self, leader: MemoryJob, job_id: str) -> None:
        work = leader.record
        leader.callers |= {job_id} if leader.callers else {work.job_id, job_id}
        own = replace(work, job_id=job_id, created=self._clock(), leader=work.job_id, left=None, is_released=False)
        self._jobs[job_id] = MemoryJob(own, leader.request, {})
        self._jobs[job_id].events = [event for event in leader.events if not isinstance(event, Cancelled)]

    def callers_of(self, job: MemoryJob) -> list[MemoryJob]:
        """Return the jobs that are told what happens to some work."""
        return [self._jobs[caller] for caller in job.callers] or [job]

    def is_followed(self, job: MemoryJob) -> bool:
        """Whether somebody may read what is told of some work on its way."""
        watched = [self.watched.get(caller.record.job_id) for caller in self.callers_of(job)]
        return any(not watchers or any(watchers.values()) for watchers in watched)

    def settle(self, job: MemoryJob, verdict: Verdict) -> bool:
        """End a job, or a caller's part in it. Return False if the caller has ended before."""
        work = self.work_of(job)
        if work is job and verdict.state != "cancelled":
            if verdict.state == "done" and not joining.reads_only(job.request):
                self._changes[job.record.collection] += 1
            self._end_work(job, verdict)
            return True
        if job.record.left is not None:
            return False
        work.callers.discard(job.record.job_id)
        if work is not job:
            self._end(job, verdict)
        elif work.callers:
            job.record = replace(job.record, left=self._clock())
            self._tell(job, last_event(verdict))
            self._on_end(job, verdict)
        if not work.callers and not work.record.is_over:
            self._end_work(work, verdict)
        return True

    def _end_work(self, job: MemoryJob, verdict: Verdict) -> None:
        """End a job and those that follow it. The leader alone is a dead letter."""
        self._end(job, verdict)
        alike = replace(verdict, state="failed") if verdict.state == "dead" else verdict
        for caller in job.callers - {job.record.job_id}:
            self._end(self._jobs[caller], replace(alike, result=readdress(verdict.result, job.record.job_id, caller)))

    def _end(self, job: MemoryJob, verdict: Verdict) -> None:
        now = self._clock()
        has_left = job.record.left is not None
        job.record = replace(
            job.record,
            state=verdict.state,
            reason=verdict.reason,
            ended=now,
            code=verdict.code or "",
            is_complete=verdict.state != "done" or verdict.complete,
        )
        is_write, names = job.is_forgotten_write, job.forgets or ()
        is_without = (
            job.forgets is not None and verdict.state == "done" and (is_write or not _is_named(verdict.result, names))
        )
        result = without_names(verdict.result, names) if is_without and is_write else verdict.result
        job.result = None if has_left else result or None
        job.due.clear()
        if verdict.state == "done":
            job.forget_work()
        ttl = DEAD_TTL_MS / 1000 if verdict.is_kept_long else self._settings.querymill_result_ttl_s
        goes = not is_without and (job.forgotten == "wholly" or (job.forgotten and verdict.state == "done"))
        job.expires = now + (min(ttl, READABLE_MS / 1000) if goes else ttl)
        if not has_left:
            self._tell(job, last_event(verdict))
            self._on_end(job, verdict)
        if is_without:
            job.scrub(is_write=is_write)

    def release(self, job: MemoryJob) -> bool:
        """Delete an ended job, except what followers still want of it."""
        record = job.record
        if record.is_released or not (record.is_over or record.left is not None):
            return False
        work = self.work_of(job)
        work.callers.discard(record.job_id)
        if work is job and work.callers:
            job.record, job.result = replace(record, is_released=True), None
            return True
        del self._jobs[record.job_id]
        if work is not job and work.record.is_released and not work.callers:
            self._jobs.pop(work.record.job_id, None)
        return True

    def forget(self, job: MemoryJob) -> bool:
        """Delete a job now or a moment after its end. Return whether it is there still."""
        job.forgotten = "wholly"
        if not job.record.is_over:
            return True
        job.expires = (job.record.ended or 0.0) + READABLE_MS / 1000
        if job.expires > self._clock():
            return True
        del self._jobs[job.record.job_id]
        return False

    def picture(self, job: MemoryJob) -> Picture:
        """Return a snapshot of a job. That of a follower is its work, under its own id."""
        work = self.work_of(job)
        shown, own = work.picture(), job.record
        record = replace(
            own, open_steps=work.record.open_steps, told=work.record.told, callers=max(1, len(work.callers))
        )
        if not own.is_over:
            record = replace(record, state=work.record.state)
        request = None if record.state == "done" else job.request
        return replace(shown, record=record, request=request)

    def work_of(self, job: MemoryJob) -> MemoryJob:
        """Return the job that is worked for this one: itself, or the leader that it follows."""
        return self._jobs.get(job.record.leader, job)
