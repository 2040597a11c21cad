"""The bell that names a step to look at, and the port that keeps leases alive."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from querymill_shared.board import Claim
from querymill_shared.queues import Queue


class Heartbeat(Protocol):
    """Keeps the leases of running steps alive."""

    def keep(self, claim: Claim) -> AbstractContextManager[None]:
        """Renew a claim's lease until the block ends."""
        ...


@dataclass(frozen=True, slots=True)
class Bell:
    """A message without content: it names the job and the step to look at, and the queue that carries it."""

    job_id: str
    step: str
    queue: Queue
