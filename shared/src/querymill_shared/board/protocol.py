"""The port of the board: what every adapter can do for the workers."""

from collections.abc import Sequence
from typing import Protocol

from querymill_shared.board.picture import Claim, Due, Outcome, Picture, Verdict
from querymill_shared.contracts.events import Event, ProgressEvent
from querymill_shared.contracts.jobs import JobRequest


class Board(Protocol):
    """The record of every job. Safe to call from many threads. Every write is atomic."""

    def submit(self, request: JobRequest, *, idempotency_key: str | None = None) -> tuple[str, bool]:
        """Accept a job. Return its id and whether it is new.

        Raises:
            IdempotencyConflict: The key was already used for a different request.
        """
        ...

    def claim(self, job_id: str, step: str) -> Claim | None:
        """Claim a step and start its lease.

        Return None if the job has ended or is past its deadline, or if the step is closed or leased to another worker.

        Raises:
            UnreadableJob: This release cannot read the request.
        """
        ...

    def extend(self, held: Claim) -> bool:
        """Renew a lease. Return False if this attempt no longer holds the step."""
        ...

    def take_queries(self, held: Claim, texts: Sequence[str]) -> list[str]:
        """Return the queries that no other step of the job has taken. The same call returns the same queries again."""
        ...

    def finish(self, held: Claim, outcome: Outcome) -> Picture | None:
        """Close a step, store its hits and return the job's picture.

        If a later attempt holds the step, store nothing and return None.
        """
        ...

    def add_steps(self, job_id: str, names: Sequence[str]) -> list[str]:
        """Add steps to a job, for the caller to ring. Return those that are new, or [] if the job has ended.

        The worker that closes the last open step adds the steps that follow from it. If that worker dies first, the
        sweeper adds the same ones. So the steps that follow must depend on nothing but the picture.
        """
        ...

    def postpone(self, held: Claim, *, delay_s: float, reason: str) -> bool:
        """Put a step back, to be rung again after a delay. Return False if this attempt no longer holds the step."""
        ...

    def tell(self, job_id: str, event: ProgressEvent, *, held: Claim | None = None) -> bool:
        """Append an event. Return False if the job has ended or the claim is no longer held."""
        ...

    def settle(self, job_id: str, verdict: Verdict) -> bool:
        """End a job. The first verdict stands: return False if the job has already ended."""
        ...

    def release(self, job_id: str) -> bool:
        """Delete an ended job before its result expires. Return False if it has not ended or does not exist."""
        ...

    def picture(self, job_id: str) -> Picture:
        """Return a snapshot of a job. If its request cannot be read, the picture says so.

        Raises:
            UnknownJob: No job has this id.
            UnreadableJob: The record is malformed.
        """
        ...

    def events(self, job_id: str, *, after: str = "0-0", wait_s: float = 0) -> list[tuple[str, Event]]:
        """Return the events after an event id, waiting up to ``wait_s`` for the first. Return [] if none came."""
        ...

    def ended(self, job_id: str, *, wait_s: float = 0) -> Event | None:
        """Return the last event of a job, waiting up to ``wait_s`` for it, or None if the job has not ended by then.

        The caller wakes up once. A reader of `events` wakes up at every event.
        """
        ...

    def result(self, job_id: str) -> str | None:
        """Return the result as JSON, or None if there is none yet."""
        ...

    def recent(self, *, most: int = 20) -> list[str]:
        """Return up to ``most`` job ids, newest first."""
        ...

    def due(self) -> list[Due]:
        """Return the entries that are due. Each becomes due again on its own until its job ends."""
        ...

    def add_collections(self, kind: str, collections: Sequence[str]) -> None:
        """Record that these collections hold something of a kind."""
        ...

    def collections(self, kind: str) -> set[str]:
        """Return the collections that hold something of a kind."""
        ...
