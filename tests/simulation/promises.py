"""The promises as invariants: checked after each event of the board, and when a schedule is over."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_core import from_json

from tests.simulation.scheduler import SECOND

#: The states and events that end a job.
FINAL: Final = ("done", "failed", "cancelled", "dead")
LAST: Final = ("done", "failed", "cancelled")


class Broken(Exception):
    """A promise was broken. ``promise`` names it."""

    def __init__(self, promise: str, what: str) -> None:
        super().__init__(f"{promise}: {what}")
        self.promise = promise


@dataclass
class JobHistory:
    """What the board's server saw of a job."""

    state: str = ""
    began: int = 0
    ended: int | None = None
    events: list[tuple[str, str]] = field(default_factory=list)
    ends: int = 0
    is_gone: bool = False
    #: Whether its events are those of another job, whose work it shares.
    is_follower: bool = False
    #: The steps that an attempt holds, and since when (µs), by the scheduler's clock and the server's.
    held: dict[str, tuple[int, int]] = field(default_factory=dict)
    #: The steps that were told to be done; those that were told to be closed; and of these, what the board has lost.
    closed: set[str] = field(default_factory=set)
    told_closed: set[str] = field(default_factory=set)
    lost_closed: set[str] = field(default_factory=set)
    #: When it was dead and opened again (µs), and what it had told until then.
    reopened: list[int] = field(default_factory=list)
    former_events: list[list[str]] = field(default_factory=list)
    #: Whether it was done once; when that was first, and with which result, unless the board has lost it.
    was_done: bool = False
    done_at: int | None = None
    result: str = ""


class Histories:
    """Hears of each event and each state on the board, at the moment when it is written."""

    def __init__(self, ask: Callable[..., Any], *, lease_s: float) -> None:
        self._ask = ask
        self._lease_us = int(lease_s * SECOND) - 2_000  # times of events are whole milliseconds
        self.jobs: dict[str, JobHistory] = {}
        #: The jobs that another program wrote over, and their idempotency keys: nothing is promised of them.
        self.spoiled: set[str] = set()
        self.spoiled_keys: set[str] = set()
        self.now = 0
        self.broken: list[Broken] = []

    def told(self, what: tuple[bytes, ...]) -> None:
        """Take in one thing that the server tells."""
        name, key, *rest = (part.decode("utf-8", "replace") for part in what)
        job_id = key.split(":")[-2]
        if job_id in self.spoiled:
            return
        if name == "event":
            self._event(job_id, *rest)
        elif name == "state":
            self._state(job_id, *rest)
        elif name == "gone" and job_id in self.jobs:
            self.jobs[job_id].is_gone = True
        elif name == "expired" and job_id in self.jobs:
            self._expired(job_id)

    def go_back(self) -> None:
        """Go on with what the board holds now: it has lost what came later."""
        ask = self._ask
        for job_id, job in self.jobs.items():
            if job_id in self.spoiled:
                continue
            stem = f"qm:{{{job_id[0]}}}:{job_id}:"
            state = ask("HGET", stem + "job", "state")
            job.is_gone, job.state = state is None, state or job.state
            if state != "done":
                job.done_at, job.result = None, ""
            # If it was opened again since, these are those of before.
            job.events = [(entry[0], entry[1][1]) for entry in ask("XRANGE", stem + "events", "-", "+")]
            job.ends = sum(event in LAST for _, event in job.events)
            job.closed.clear()
            job.lost_closed |= job.told_closed
            job.held.clear()

    def open_jobs(self) -> list[str]:
        """Return the jobs that have not ended."""
        return [
            job_id
            for job_id, job in self.jobs.items()
            if job.state not in FINAL and not job.is_gone and job_id not in self.spoiled
        ]

    def spoil(self, job_id: str) -> None:
        """Promise nothing of a job any more, nor of those that share its work."""
        stem = f"qm:{{{job_id[0]}}}:"
        leader = self._ask("HGET", f"{stem}{job_id}:job", "leader")
        work = leader if isinstance(leader, str) else job_id
        callers = self._ask("SMEMBERS", f"{stem}{work}:callers")
        spoiled = {job_id, work, *(callers if isinstance(callers, list) else ())}
        self.spoiled |= spoiled
        for each in spoiled:
            found = self._ask("HMGET", f"{stem}{each}:job", "idempotency", "key")
            self.spoiled_keys |= set(found if isinstance(found, list) else ())

    def _event(self, job_id: str, event_id: str, event: str, body: str) -> None:
        job = self.jobs.setdefault(job_id, JobHistory(began=self.now))
        if job.events and not _is_later(event_id, job.events[-1][0]):
            self._break("events in order", f"{job_id} was told {event_id} after {job.events[-1][0]}")
        if event == "queued":
            self._open(job_id, job)
        if job.ends:
            self._break("one end", f"{job_id} was told {event} after its end")
        job.events.append((event_id, event))
        if event in LAST:
            job.ends += 1
            job.ended = self.now
        if event == "stage_started":
            self._started(job_id, job, from_json(body)["stage"], event_id)
        if event == "stage_finished":
            job.held.pop(from_json(body)["stage"], None)
            self._closed(job_id, job, body)
        if event == "done":
            self._done(job_id, job, body)

    def _open(self, job_id: str, job: JobHistory) -> None:
        """A job is accepted, or opened again: what is done stays done."""
        if job.events:
            job.reopened.append(self.now)
            job.former_events.append([event for _, event in job.events])
            job.told_closed.clear()
            job.lost_closed.clear()
        job.ends, job.events, job.held = 0, [], {}
        leader = self._ask("HGET", f"qm:{{{job_id[0]}}}:{job_id}:job", "leader")
        job.is_follower = leader is not None
        if leader in self.spoiled:
            self.spoil(job_id)

    def _started(self, job_id: str, job: JobHistory, stage: str, event_id: str) -> None:
        """A step is held by one attempt, until it lets go or for as long as a lease at least."""
        at = (self.now, int(event_id.split("-")[0]) * 1_000)
        since = job.held.get(stage)
        if since is not None and not job.is_follower:
            held_us = max(now - then for now, then in zip(at, since, strict=True))
            if held_us < self._lease_us:
                self._break("a step is held by one", f"{stage} of {job_id} was begun again after {held_us} µs")
        job.held[stage] = at

    def _closed(self, job_id: str, job: JobHistory, body: str) -> None:
        """A step is done once: what another attempt does later counts for nothing."""
        told = from_json(body)
        job.told_closed.add(told["stage"])
        if told["state"] != "done":
            return
        if told["stage"] in job.closed:
            self._break("a step is done once", f"{told['stage']} of {job_id} was done again")
        job.closed.add(told["stage"])

    def _done(self, job_id: str, job: JobHistory, body: str) -> None:
        """What is complete lacks no step."""
        job.was_done = True
        if job.done_at is None:
            job.done_at, job.result = self.now, self.result_of(job_id)
        read = self._ask("HGETALL", f"qm:{{{job_id[0]}}}:{job_id}:steps")
        states = {name: state for name, state in zip(read[::2], read[1::2], strict=True) if name.endswith(".state")}
        # A worker that read all of them closed ends the job, although the board has lost its last second since.
        closed = {f"{step}.state" for step in job.lost_closed}
        lacking = {name for name, state in states.items() if state not in ("done", "failed")} - closed
        if from_json(body)["complete"] and lacking:
            self._break("what is complete lacks nothing", f"{job_id} is done, and its steps are {states}")

    def result_of(self, job_id: str) -> str:
        """Return the result of a job as JSON, "" if there is none."""
        stem = f"qm:{{{job_id[0]}}}:"
        own = self._ask("GET", f"{stem}{job_id}:result") or ""
        if not own.startswith("@"):
            return str(own)
        leader = own[1:]
        return str(self._ask("GET", f"{stem}{leader}:shared") or self._ask("GET", f"{stem}{leader}:result") or "")

    def _state(self, job_id: str, state: str) -> None:
        job = self.jobs.setdefault(job_id, JobHistory(began=self.now))
        if job.is_gone and state == "queued":
            # Its caller had reserved the key, and stood still until the job was forgotten: it is another one.
            former = [*job.former_events, [event for _, event in job.events]]
            job = self.jobs[job_id] = JobHistory(began=self.now, former_events=former)
        if job.state in FINAL and state != "queued":
            self._break("one end", f"{job_id} was {job.state}, and then {state}")
        if job.state in ("done", "failed", "cancelled") and state == "queued" and not job.is_gone:
            self._break("only the dead are replayed", f"{job_id} was {job.state}, and then {state}")
        job.state = state

    def _expired(self, job_id: str) -> None:
        if self.jobs[job_id].state not in FINAL:
            self._break("an accepted job ends", f"the record of {job_id} ran out before its end")
        self.jobs[job_id].is_gone = True

    def _break(self, promise: str, what: str) -> None:
        self.broken.append(Broken(promise, f"{what} (at {self.now / SECOND:.3f} s)"))


def _is_later(one: str, other: str) -> bool:
    return tuple(map(int, one.split("-"))) > tuple(map(int, other.split("-")))
