"""The names of the board's keys.

All keys of one job, and the due list it is in, share a hash tag, so that a cluster can hold them.
"""

import hashlib
from uuid import uuid4

#: One hash tag per first hex digit of a job id: due lists spread, yet each stays in its jobs' slot.
SHARDS = "0123456789abcdef"

#: Collections that hold something, as fields "kind/collection".
COLLECTIONS = "qm:collections"
#: Who sweeps at the moment.
SWEEPER = "qm:sweeper"


def new_job_id(idempotency: str | None = None) -> str:
    """Make a job id; with an idempotency scope its first digit, and so its slot, follows from the scope."""
    random = uuid4().hex
    return random if idempotency is None else idempotency_digest(idempotency)[0] + random[1:]


def idempotency_digest(scope: str) -> str:
    """Hash an idempotency key together with what it is scoped to."""
    return hashlib.sha256(scope.encode()).hexdigest()


def prefix(shard: str) -> str:
    """Begin every key of a shard."""
    return f"qm:{{{shard}}}:"


def of_job(job_id: str, *parts: str) -> list[str]:
    """Name parts of a job's keys: "due" and "recent" belong to its shard, the others to the job.

    An empty id, which no job has, is looked for in the first shard.
    """
    shard = prefix(job_id[:1] or SHARDS[0])
    return [shard + part if part in ("due", "recent") else f"{shard}{job_id}:{part}" for part in parts]


def idempotency(job_id: str, scope: str | None) -> str:
    """Name the key that remembers an idempotency key, in the job's slot."""
    return f"{prefix(job_id[0])}idem:{idempotency_digest(scope or job_id)}"
