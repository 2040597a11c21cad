"""The names of the board's keys.

All keys of one job share a hash tag with the due list of that job, so that a Redis cluster can hold the board.
"""

import hashlib
from uuid import uuid4

#: The hash tags: the first hex digit of a job id. There is one due list per tag, in the slot of its jobs.
SHARDS = "0123456789abcdef"

#: A hash whose fields "kind/collection" name the collections that hold something.
COLLECTIONS = "qm:collections"
#: Holds the name of the process that is elected to sweep.
SWEEPER = "qm:sweeper"


def new_job_id(idempotency: str | None = None) -> str:
    """Make a random job id. With an idempotency scope, the scope determines the first digit and so the slot."""
    random = uuid4().hex
    return random if idempotency is None else idempotency_digest(idempotency)[0] + random[1:]


def idempotency_digest(scope: str) -> str:
    """Hash an idempotency key together with its scope."""
    return hashlib.sha256(scope.encode()).hexdigest()


def prefix(shard: str) -> str:
    """Return the prefix of every key of a shard."""
    return f"qm:{{{shard}}}:"


def of_job(job_id: str, *parts: str) -> list[str]:
    """Return the keys of a job by part: "due" and "recent" belong to its shard, all others to the job itself.

    No job has an empty id. Its keys are those of the first shard, where nothing is found.
    """
    shard = prefix(job_id[:1] or SHARDS[0])
    return [shard + part if part in ("due", "recent") else f"{shard}{job_id}:{part}" for part in parts]


def idempotency(job_id: str, scope: str | None) -> str:
    """Return the key that stores an idempotency key, in the job's slot."""
    return f"{prefix(job_id[0])}idem:{idempotency_digest(scope or job_id)}"
