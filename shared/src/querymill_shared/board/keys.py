"""The names of the board's keys.

All keys of one job share a hash tag with the due list of that job, so that a Redis cluster can hold the board.
"""

import hashlib
from secrets import token_hex
from typing import Final

#: The hash tags: the first hex digit of a job id. There is one due list per tag, in the slot of its jobs.
SHARDS = "0123456789abcdef"

#: A hash whose fields "kind/collection" name the collections that hold something.
COLLECTIONS = "qm:collections"
#: What the board knows of time and versions. It is in the slot of a shard, where every user of the board may write.
CLOCK_SHARD = SHARDS[0]
CLOCK = f"qm:{{{CLOCK_SHARD}}}:clock"
#: A hash of the gateway's API keys, by their ids.
API_KEYS = "qm:keys"
#: A hash of which secrets sign the callbacks of an API key, by its id. It holds no secret.
CALLBACK_SECRETS = "qm:callbacks"
#: The processes that stand for election to sweep, each with the shards that it sweeps. Its slot is that of the clock.
SWEEPERS = "qm:{0}:sweepers"
#: The worker processes by the time of their last beat, and a hash of what each is.
WORKERS, ABOUT_WORKERS = "qm:{workers}", "qm:{workers}:about"


def sweeper(shard: str) -> str:
    """Return the key that holds the name of the process that is elected to sweep a shard."""
    return prefix(shard) + "sweeper"


def corpus(shard: str) -> str:
    """Return the key of what a shard knows of the versions of collections."""
    return prefix(shard) + "corpus"


def backlog(shard: str) -> str:
    """Return the key of a shard's note on how long new bells wait."""
    return prefix(shard) + "backlog"


def announced(kind: str) -> str:
    """Return the field of `COLLECTIONS` that says that all collections of a kind are recorded."""
    return f"@{kind}"


def new_job_id(digest: str | None = None) -> str:
    """Make a random job id. With a digest, that determines the first digit and so the slot."""
    random = token_hex(16)
    return random if digest is None else digest[0] + random[1:]


def idempotency_digest(scope: str) -> str:
    """Hash an idempotency key together with its scope."""
    return hashlib.sha256(scope.encode()).hexdigest()


def prefix(shard: str) -> str:
    """Return the prefix of every key of a shard."""
    return f"qm:{{{shard}}}:"


#: The key of a write that changes nothing: only a server that takes writes accepts it.
READY: Final = f"{prefix('0')}ready"


def of_job(job_id: str, *parts: str) -> list[str]:
    """Return the keys of a job by part: "due", "recent" and "dead" belong to its shard, all others to the job itself.

    No job has an empty id. Its keys are those of the first shard, where nothing is found.
    """
    shard = prefix(job_id[:1] or SHARDS[0])
    return [shard + part if part in ("due", "recent", "dead") else f"{shard}{job_id}:{part}" for part in parts]


def held(shard: str, life: str) -> str:
    """Return the key of the steps of a shard that a worker process holds."""
    return f"{prefix(shard)}held:{life}"


def lives(shard: str) -> str:
    """Return the key of the worker processes that may claim steps of a shard."""
    return prefix(shard) + "lives"


def held_with(job_id: str, life: str) -> str:
    """Return the key of the steps that a worker process holds, in the job's slot."""
    return held(job_id[:1] or SHARDS[0], life)


def idempotency(digest: str, scope: str) -> str:
    """Return the key that stores an idempotency key, in the slot of a digest (or job id)."""
    return f"{prefix(digest[0])}idem:{idempotency_digest(scope)}"
