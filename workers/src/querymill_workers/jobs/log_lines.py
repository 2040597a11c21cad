"""What a worker logs of jobs: one line for each that ends, and one for each step that fails.

No text of anybody, but the labels of callers, which are bounded and printable.
"""

import structlog

from querymill_shared.board import Claim, Ended
from querymill_workers.jobs.faults import kinds_of

_log = structlog.get_logger(__name__)


def log_end(ended: Ended) -> None:
    """Log how a job ended."""
    _log.info(
        "job ended",
        job_id=ended.job_id,
        kind=ended.kind,
        collection=ended.collection,
        state=ended.state,
        ms=ended.ms,
        steps=ended.steps,
        degraded=ended.degraded,
        **({"labels": dict(ended.labels)} if ended.labels else {}),
    )


def log_failure(claim: Claim, error: BaseException | str) -> None:
    """Log that a step failed, and of what kind. The message of an error may quote a pattern or a question."""
    fault = error if isinstance(error, str) else kinds_of(error)
    labels = {"labels": dict(claim.labels)} if claim.labels else {}
    _log.info("step failed", job_id=claim.job_id, step=claim.step, attempt=claim.attempt, fault=fault, **labels)
