"""What the board keeps of an ingestion for people: its jobs and its refused lines, for a week.

The gateway writes it for uploads, the client for commands and calls. A batch is one text: JSON of what is known of it,
then a line for each job, with its number of documents.
"""

import re
from collections.abc import Iterable
from math import isfinite
from typing import Any, Final

from pydantic_core import from_json, to_json

from querymill_shared.board import keys
from querymill_shared.contracts.batches import KeptBatch
from querymill_shared.values import value

#: How long a batch is kept, in seconds.
BATCH_TTL_S: Final = 7 * 86_400
#: For how long while it is read, in seconds: its process may die.
OPEN_TTL_S: Final = 3_600
#: How often it is written while it is read, in seconds.
WRITTEN_EVERY_S: Final = 1.0
#: The list of the latest batches, and how long it is.
BATCHES: Final = f"{keys.prefix('0')}batches"
MAX_LISTED: Final = 50
#: What is listed further ahead than this, in seconds, another program wrote. It would push all others off the list.
MAX_AHEAD_S: Final = 86_400.0
_JOB: Final = re.compile(r"([0-9a-f]{32})(?: (\d{1,9}))?", re.ASCII)


@value
class KnownBatch:
    """Whose batch is kept, and when it began, in seconds since the epoch."""

    collection: str
    began_at: float


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


def known_of(text: str | None) -> KnownBatch | None:
    """Return what a kept batch says of itself, or None if nothing is kept, or another program wrote it.

    >>> known_of('{"collection": "filings", "began_at": 9}')
    KnownBatch(collection='filings', began_at=9.0)
    >>> known_of("rubbish"), known_of("[]"), known_of('{"began_at": 9}')
    (None, None, None)
    """
    try:
        known = from_json((text or "").partition("\n")[0])
        at = float(known.get("began_at", 0.0))
    except (ValueError, AttributeError, TypeError, OverflowError):
        return None
    collection = known.get("collection")
    return KnownBatch(collection, at) if isinstance(collection, str) and isfinite(at) else None


def jobs_in(lines: Iterable[str]) -> list[tuple[str, int]]:
    """Return the jobs of a kept batch, each with its number of documents. Lines of another program are left out.

    >>> jobs_in(["0123456789abcdef0123456789abcdef 20", "0123456789abcdef0123456789abcdef many", ""])
    [('0123456789abcdef0123456789abcdef', 20)]
    """
    found = (_JOB.fullmatch(line) for line in lines)
    return [(job[1], int(job[2] or 1)) for job in found if job]


def ttl_of(about: KeptBatch) -> int:
    """Return for how long a batch is kept, in seconds."""
    return OPEN_TTL_S if about.is_open else BATCH_TTL_S
