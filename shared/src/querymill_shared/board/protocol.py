"""What a board can do, seen from the workers: the contract that the adapters share."""

from collections.abc import Sequence
from typing import Protocol

from querymill_shared.board.picture import Claim, Due, Outcome, Picture, Verdict
from querymill_shared.contracts.events import Event, Told
from querymill_shared.contracts.jobs import JobRequest


class Board(Protocol):
    """The truth about every job. Safe to call from many threads; every write is atomic."""

    def submit(self, request: JobRequest, *, idempotency_key: str | None = None) -> tuple[str, bool]:
        """Accept a job; return its id and whether it is new.

        Raises:
            IdempotencyConflict: The key belongs to a job with another request.
        """
        ...

    def claim(self, job_id: str, step: str) -> Claim | None:
        """Take a step under a lease; None when it is over, late, closed, or held by a live lease.

        Raises:
            UnreadableJob: The request is none that this release knows.
        """
        ...

    def extend(self, held: Claim) -> bool:
        """Renew a lease; False when the step is no longer ours."""
        ...

    def take_queries(self, held: Claim, texts: Sequence[str]) -> list[str]:
        """Keep those queries that no other step of the job has taken; asking again gives the same."""
        ...

    def finish(self, held: Claim, outcome: Outcome) -> Picture | None:
        """Close a step with its hits; None when a later attempt holds it, and then nothing is written."""
        ...

    def add_steps(self, job_id: str, names: Sequence[str]) -> list[str]:
        """Give a job further steps, to be rung now; return those it did not have. [] when the job is over.

        Steps come one after the other: the worker that closed the last open one adds what follows from it. Should
        that worker die first, the sweeper concludes the job, which adds the same. So what follows must depend
        on nothing but the picture.
        """
        ...

    def postpone(self, held: Claim, *, delay_s: float, reason: str) -> bool:
        """Put a step back, to be rung again after a delay."""
        ...

    def tell(self, job_id: str, event: Told, *, held: Claim | None = None) -> bool:
        """Append an event; False when the job is over, or the claim it is told under is no longer held."""
        ...

    def settle(self, job_id: str, verdict: Verdict) -> bool:
        """End a job; False when it had ended before. The first verdict stands."""
        ...

    def release(self, job_id: str) -> bool:
        """Let go of a job that ended, before its result expires; False when it is not over, or not there."""
        ...

    def picture(self, job_id: str) -> Picture:
        """Show a whole job.

        Raises:
            UnknownJob: There is none with this id.
            UnreadableJob: Its record is none of ours. A request that cannot be read is no error: the picture says so.
        """
        ...

    def events(self, job_id: str, *, after: str = "0-0", wait_s: float = 0) -> list[tuple[str, Event]]:
        """Read events after an event id, waiting at most ``wait_s`` for the first; [] if none came."""
        ...

    def ended(self, job_id: str, *, wait_s: float = 0) -> Event | None:
        """Return the last event of a job, waiting at most ``wait_s`` for it; None while it is not over.

        A waiter is woken once, where a reader of `events` is woken by each.
        """
        ...

    def result(self, job_id: str) -> str | None:
        """Return the result's JSON, None while there is none."""
        ...

    def recent(self, *, most: int = 20) -> list[str]:
        """List job ids, newest first."""
        ...

    def due(self) -> list[Due]:
        """Take what the sweeper should look at; every entry returns by itself until its job ends."""
        ...

    def add_collections(self, kind: str, collections: Sequence[str]) -> None:
        """Remember that these collections hold something of a kind."""
        ...

    def collections(self, kind: str) -> set[str]:
        """List the collections that hold something of a kind."""
        ...
