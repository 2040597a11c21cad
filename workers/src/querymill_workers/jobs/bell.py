"""The doorbell, and what keeps a lease alive while its work is done."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from querymill_shared.board import Claim
from querymill_shared.queues import Queue


class Heartbeat(Protocol):
    """Keeps leases alive while their work is done."""

    def keep(self, claim: Claim) -> AbstractContextManager[None]: ...


@dataclass(frozen=True, slots=True)
class Bell:
    """A doorbell: which step of which job should be looked at, and on which queue it rings."""

    job_id: str
    step: str
    queue: Queue
