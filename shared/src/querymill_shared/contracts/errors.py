"""What can go wrong between a producer and the workers.

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
    """The base of every error that Querymill raises."""


class UnknownCollection(QuerymillError):
    """Nothing of this kind was ever ingested into the collection.

    Attributes:
        reason: The message without the collections there are (``known``), for callers who may not learn of them.
    """

    def __init__(self, collection: str, kind: str, known: Iterable[str]) -> None:
        self.collection = collection
        self.kind = kind
        self.known = tuple(sorted(known))
        self.reason = f"collection: no {kind} in {collection!r}"
        super().__init__(f"{self.reason}; collections with {kind}: {', '.join(self.known) or 'none yet'}")


class UnknownJob(QuerymillError):
    """No such job: it never was, or it ended long ago and expired."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"job {job_id!r} is not on the board: it never was, or it ended and expired")


class UnreadableJob(QuerymillError):
    """The job stands on the board in a form that this release cannot read, as one of a newer release may."""

    def __init__(self, job_id: str, reason: str) -> None:
        super().__init__(f"job {job_id}: {reason}")
        self.reason = reason


class IdempotencyConflict(QuerymillError):
    """The idempotency key was used before, for another request."""

    def __init__(self, key: str, job_id: str) -> None:
        super().__init__(f"idempotency_key {key!r} already belongs to job {job_id} with another request")


class JobEnded(QuerymillError):
    """The job ended without a result."""

    def __init__(self, job_id: str, reason: str) -> None:
        super().__init__(f"job {job_id} {reason}")
        self.job_id = job_id
        self.reason = reason


class JobFailed(JobEnded):
    """The job failed, and says why."""


class JobCancelled(JobEnded):
    """The job was cancelled."""
