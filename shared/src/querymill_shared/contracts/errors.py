"""The errors that a producer can get.

QuerymillError
├── UnknownCollection
├── UnknownJob
├── UnreadableJob
├── IdempotencyConflict
└── JobEnded
    ├── JobFailed
    └── JobCancelled
"""

from collections.abc import Iterable


class QuerymillError(Exception):
    """Base class of every error that Querymill raises."""


class UnknownCollection(QuerymillError):
    """Raised when nothing of this kind was ever ingested into the collection.

    Attributes:
        reason: The message without the names of existing collections (``known``), for callers who may not see them.
    """

    def __init__(self, collection: str, kind: str, known: Iterable[str]) -> None:
        self.collection = collection
        self.kind = kind
        self.known = tuple(sorted(known))
        self.reason = f"collection: no {kind} in {collection!r}"
        super().__init__(f"{self.reason}; collections with {kind}: {', '.join(self.known) or 'none yet'}")


class UnknownJob(QuerymillError):
    """Raised when no job has this id, or its result has expired."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"job {job_id!r} not found: the id is wrong, or its result has expired")


class UnreadableJob(QuerymillError):
    """Raised when this release cannot read a job on the board, for example because a newer release wrote it."""

    def __init__(self, job_id: str, reason: str) -> None:
        super().__init__(f"job {job_id}: {reason}")
        self.reason = reason


class IdempotencyConflict(QuerymillError):
    """Raised when an idempotency key was already used for a different request."""

    def __init__(self, key: str, job_id: str) -> None:
        super().__init__(
            f"idempotency_key {key!r} was already used for job {job_id} with a different request; use a new key"
        )


class JobEnded(QuerymillError):
    """Raised when a job ended without a result."""

    def __init__(self, job_id: str, reason: str) -> None:
        super().__init__(f"job {job_id} {reason}")
        self.job_id = job_id
        self.reason = reason


class JobFailed(JobEnded):
    """Raised when a job failed. The message gives the reason."""


class JobCancelled(JobEnded):
    """Raised when a job was cancelled."""
