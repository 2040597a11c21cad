"""The port of the board: what every adapter can do for the workers."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

from querymill_shared.board.attempts import AttemptPart
from querymill_shared.board.counts import JobCounts
from querymill_shared.board.erasure import Kept, ListedJob, Scrubbed
from querymill_shared.board.pace import NO_PACES, QueuePace
from querymill_shared.board.picture import Cause, Claim, Claims, Due, Outcome, Picture, Verdict, WorkerLife
from querymill_shared.contracts.codes import Code
from querymill_shared.contracts.events import Event, ProgressEvent
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.submit_options import NO_LABELS, PLAIN, SubmitOptions
from querymill_shared.queues import Queue


class Board(Protocol):
    """The record of every job. Safe to call from many threads. Every write is atomic."""

    def submit(self, request: JobRequest, options: SubmitOptions = PLAIN) -> tuple[str, bool]:
        """Accept a job. Return its id and whether it starts work, so that its steps must be rung.

        An idempotency key leads to its first job for as long as that is on the board. After that the work starts again.
        A job that is identical to one in flight follows that one: see `joining`. It starts no work.

        Raises:
            IdempotencyConflict: The key belongs to a job with a different request that is still on the board.
            Overloaded: No worker can begin it before its deadline; see `report_backlog`.
        """
        ...

    def claim(self, job_id: str, step: str) -> Claim | None:
        """Claim a step and start its lease.

        Return None if the job has ended or is past its deadline, or if the step is closed or leased to another worker.

        Raises:
            UnreadableJob: This release cannot read the request. The step is left to other workers, unused.
        """
        ...

    def claim_steps(self, job_id: str, step: str, *, life: str, limit: int) -> Claims:
        """Claim a step as `claim` does, and up to ``limit`` - 1 further steps of its queue that nobody has tried yet.

        A worker process with that life holds them, without a lease to renew, until it closes them or is released. It
        must have beaten before. One call claims several, so that one bell is enough for all steps of a queue.

        Raises:
            UnreadableJob: This release cannot read the request.
        """
        ...

    def beat(self, life: str, about: Mapping[str, Any]) -> list[str]:
        """Note that a worker process lives, and what it is: the fields of `WorkerLife`.

        Return the lives that were not heard of for longer than the lease, for the caller to release.
        """
        ...

    def workers(self) -> list[WorkerLife]:
        """Return the worker processes that have not been released, the one heard of last first."""
        ...

    def release_life(self, life: str, *, planned: bool = False) -> list[tuple[str, str]]:
        """Put back all steps that a worker process held when it ended. Each is due at once.

        Unless that was ``planned``, it counts as a death of each of them, which uses an attempt up.
        Return the job and the name of each. If the process lives after all, its attempts are fenced out; it reports
        itself again at its next beat.
        """
        ...

    def list_missing_lives(self) -> list[str]:
        """List the worker processes again that may claim steps and are not on the list. Return those.

        A server that has lost its last writes may have one of them that was struck off: nobody would miss it. One that
        is dead falls silent again, and is released.
        """
        ...

    def put_back_lost(self, life: str, kept: Collection[Claim], *, held_for_s: float) -> list[tuple[str, str]]:
        """Put back what a living worker process holds and does not know of, because the reply to its claim was lost.

        Those are its steps that are not ``kept`` and that it has held for ``held_for_s`` seconds. Each is due at once.
        Return the job and the name of each.
        """
        ...

    def extend(self, held: Claim) -> bool:
        """Renew a lease. Return False if this attempt no longer holds the step."""
        ...

    def take_queries(self, held: Claim, texts: Sequence[str], *, rivals: Collection[str]) -> list[str]:
        """Return the queries that no other step of the job has taken. The same call returns the same queries again.

        ``rivals`` are the steps that take queries. If one call claimed them all, their process knows what they took.
        """
        ...

    def finish(self, held: Claim, outcome: Outcome, *, verdict: Verdict | None = None) -> Picture | None:
        """Close a step and store its hits.

        Return the job's picture if there is something to do with it: no step is open any more, or nothing has been
        told about the job for 0.1 s. Otherwise return None, because most steps that end are neither. While all who
        watch the job wait for its end, nothing need be told on the way. If a later attempt holds the step, store
        nothing and return None.

        A worker that can `foresee` how the job ends gives its ``verdict``: the job ends with the step, at one moment
        and in one round trip, if the step is this attempt's and no other is open. Otherwise the verdict is dropped.
        """
        ...

    def add_steps(
        self, job_id: str, names: Sequence[str], *, queue_of: Callable[[str], Queue] | None = None
    ) -> list[str]:
        """Add steps to a job, for the caller to ring. Return those that are new, or [] if the job has ended.

        With ``queue_of``, one bell is enough for all steps of a queue. Without, each step needs its own.

        The worker that closes the last open step adds the steps that follow from it. If that worker dies first, the
        sweeper adds the same ones. So the steps that follow must depend on nothing but the picture.
        """
        ...

    def add_closed_step(self, job_id: str, name: str, outcome: Outcome) -> Picture | None:
        """Add a step that is closed already: it holds what a part of the job, of several steps, came to.

        Return the picture of the job, without its request, or None if the job has ended. Of two calls the first stands.
        """
        ...

    def postpone(
        self, held: Claim, *, delay_s: float, reason: str, cause: Cause, code: Code | None = None,
        parts: Sequence[AttemptPart] = (),
    ) -> bool:  # fmt: skip
        """Put a step back, to be rung again after a delay, and count why. Keep the attempt with its code and parts.

        Return False if this attempt no longer holds the step.
        """
        ...

    def append_event(self, job_id: str, event: ProgressEvent, *, held: Claim | None = None) -> bool:
        """Append an event. Return False if the job has ended or the claim is no longer held."""
        ...

    def settle(self, job_id: str, verdict: Verdict) -> bool:
        """End a job. The first verdict stands: return False if the job has already ended.

        A caller that cancels ends its own job alone while others wait for the same work.
        """
        ...

    def release(self, job_id: str) -> bool:
        """Delete an ended job before its result expires. Return False if it has not ended or does not exist."""
        ...

    def picture(self, job_id: str) -> Picture:
        """Return a snapshot of the work of a job. If its request cannot be read, the picture says so.

        Raises:
            UnknownJob: No job has this id.
            UnreadableJob: The record is malformed.
        """
        ...

    def pictures(self, job_ids: Sequence[str]) -> list[Picture | None]:
        """Return the pictures of many jobs in few round trips, None for one that is unknown or cannot be read."""
        ...

    def settle_all(self, verdicts: Mapping[str, Verdict]) -> None:
        """End many jobs that only read, in few round trips. One that has ended stays as it is."""
        ...

    def trail(self, job_id: str) -> Picture:
        """Return what a job did that has ended, for a week: its picture without its question, hits and result.

        Raises:
            UnknownJob: It has no trail: it has not ended, or that is too long ago.
            UnreadableJob: The trail is malformed.
        """
        ...

    def events(self, job_id: str, *, after: str = "0-0") -> list[tuple[str, Event]]:
        """Return the events after an event id so far, [] if there are none. `WatchedBoard` is for those who wait."""
        ...

    def has_ended(self, job_id: str) -> bool:
        """Return whether a job has ended or is not on the board."""
        ...

    def result(self, job_id: str) -> str | None:
        """Return the result as JSON, or None if there is none yet."""
        ...

    def recent(
        self, *, limit: int = 20, labels: Mapping[str, str] = NO_LABELS, idempotency_key: str | None = None
    ) -> list[str]:
        """Return up to ``limit`` ids of jobs, newest first: all, or those with all these labels and the key."""
        ...

    def past(self, *, until: float, limit: int = 20) -> list[str]:
        """Return up to ``limit`` ids of jobs that have a trail, newest first: those submitted until a time (s)."""
        ...

    def open_jobs(self, *, limit: int = 20) -> list[str]:
        """Return up to ``limit`` ids of open jobs, the oldest first, without those that follow others."""
        ...

    def dead(self, *, limit: int = 20) -> list[str]:
        """Return up to ``limit`` ids of dead jobs, the latest first: those given up, and kept for a week."""
        ...

    def replay(self, job_id: str) -> bool:
        """Open a dead job again. Return False if the job is not dead.

        Its steps that are not done wait with all their attempts, and the next sweep rings for them. It keeps the time
        at which it was accepted; a job with a deadline gets as much time as it had.
        """
        ...

    def drop(self, job_id: str) -> bool:
        """Delete a dead job before it expires. Return False if the job is not dead."""
        ...

    def due_in(self, shards: str = ...) -> float:
        """Return after how many seconds the first entry is due: 0 or less if one is now, inf if there is none.

        ``shards`` are those looked at, all unless given. One whose server is away for now is left out.
        """
        ...

    def due(self, *, waits: Mapping[str, float] = ..., shards: str = ..., sweeper: str = ...) -> list[Due]:
        """Return the entries that are due. Each becomes due again on its own until its job ends.

        ``shards`` are those looked at, all unless given. A ``sweeper`` that names itself gets those of shards only for
        which it is elected.

        ``waits`` is how long a bell waits in a queue, in seconds. A waiting step whose own bell was rung a shorter
        time ago is left out: that bell may still be in the queue.
        """
        ...

    def called_back(self, due: Due, *, job_id: str, delivery: str) -> None:
        """Note that a job is on the board that tells the caller of a job that has ended.

        With "" for both, drop what cannot be read.
        """
        ...

    def report_backlog(self, waits: Mapping[str, float], paces: Mapping[str, QueuePace] = NO_PACES) -> None:
        """Note for three seconds how long a new step would wait on each queue, in seconds, and how fast it is emptied.

        In that time `submit` refuses a job whose deadline is earlier than the shortest wait of its steps' queues. Of a
        queue whose pace is known, it counts itself what waits, so a burst is refused as soon as it is too long, and a
        collection with few steps there waits for those of collections with as few, at the pace of the spare threads.
        """
        ...

    def counts(self) -> JobCounts:
        """Return how many jobs were submitted and ended since the board was empty, and how long they took."""
        ...

    def add_collections(self, kind: str, collections: Sequence[str]) -> None:
        """Record that these collections hold something of a kind."""
        ...

    def announce(self, kind: str, collections: Sequence[str]) -> None:
        """Record every collection that holds something of a kind, and that all of the kind are recorded."""
        ...

    def unannounced(self, kinds: Sequence[str]) -> list[str]:
        """Return those of the kinds that were never announced, or not since the board lost its data."""
        ...

    def remove_collections(self, kind: str, collections: Sequence[str]) -> None:
        """Record that these collections hold nothing of a kind any more."""
        ...

    def jobs_of(self, collection: str) -> Iterator[ListedJob]:
        """Yield the jobs of a collection: at least all that are on the board when the first is asked for."""
        ...

    def erase_jobs(self, job_ids: Collection[str]) -> int:
        """Delete jobs that hold a forgotten text, with all that the board holds of them.

        Return how many are there still: those that have not ended, and those that ended within the last two seconds.
        They are deleted two seconds after their end, so that those who wait for them learn how they ended.
        """
        ...

    def mark_forgotten(self, job_id: str, names: Collection[str], *, is_write: bool) -> bool:
        """Note of a job that has not ended which documents were forgotten, by their ids.

        If it is a write of theirs and is done, it stays without what it asked and with "forgotten" for those ids. If it
        reads, it goes as `erase_jobs` says if its result names one of them, and stays without what was told on the way
        if not. Return False if it has ended.
        """
        ...

    def scrub_jobs(self, jobs: Sequence[Scrubbed]) -> None:
        """Keep of jobs that are done only how they ended: no event on the way and, of a write, nothing that it asked.

        An idempotency key of a write leads to the job still, whatever is asked with it.
        """
        ...

    def kept_of(self, job_ids: Sequence[str]) -> Mapping[str, Kept]:
        """Return what is still held of jobs that have ended."""
        ...

    def trim_job(self, job_id: str, request: JobRequest) -> bool:
        """Replace the request of a job that is not done by one without the forgotten documents.

        What an attempt under way does with them does nothing, as `versions` has it. Return False if the job has no
        request any more.
        """
        ...

    def collections(self, kind: str) -> set[str]:
        """Return the collections that hold something of a kind."""
        ...
