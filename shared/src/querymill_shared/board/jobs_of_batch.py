"""What the board keeps of an ingestion for people: its jobs and its refused lines, for a week.

The gateway writes it for uploads, the client for commands and calls. A batch is one text: JSON of what is known of it,
then a line for each job, with its number of documents.
"""

from collections.abc import Iterable
from typing import Any, Final

from pydantic_core import from_json, to_json

from querymill_shared.board import keys
from querymill_shared.contracts.batches import KeptBatch

#: How long a batch is kept, in seconds.
BATCH_TTL_S: Final = 7 * 86_400
#: For how long while it is read, in seconds: its process may die.
OPEN_TTL_S: Final = 3_600
#: How often it is written while it is read, in seconds.
WRITTEN_EVERY_S: Final = 1.0
#: The list of the latest batches, and how long it is.
BATCHES: Final = f"{keys.prefix('0')}batches"
MAX_LISTED: Final = 50


def batch_key(batch: str) -> str:
    """Return the key of a batch."""
    return f"{keys.prefix(batch[0])}batch:{batch}"


def batch_text(about: str, jobs: Iterable[tuple[str, int]]) -> str:
    """Return what is kept of a batch. ``about`` is JSON, and each job has its number of documents."""
    return "\n".join([about, *(f"{job_id} {documents}" for job_id, documents in jobs)])


def text_of(batch: str, about: KeptBatch, *, began_at: float) -> str:
    """Return what is kept of a batch that began at a time, in seconds since the epoch."""
    known: dict[str, Any] = about.model_dump(exclude={"jobs"}) | {
        "batch": batch, "jobs": {}, "gone": 0, "accepted": sum(job.documents for job in about.jobs),
        "began_at": began_at,
    }  # fmt: skip
    return batch_text(to_json(known).decode(), ((job.job_id, job.documents) for job in about.jobs))


def began_at(text: str) -> float:
    """Return when a batch began that is kept, in seconds since the epoch."""
    return float(from_json(text.partition("\n")[0]).get("began_at", 0.0))


def collection_of(text: str) -> str:
    """Return the collection of a batch that is kept."""
    return str(from_json(text.partition("\n")[0])["collection"])


def ttl_of(about: KeptBatch) -> int:
    """Return for how long a batch is kept, in seconds."""
    return OPEN_TTL_S if about.is_open else BATCH_TTL_S
