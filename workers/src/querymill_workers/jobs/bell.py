"""The bell that names a step to look at, and the port that tells the fleet that this process lives."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Protocol

from querymill_shared.board import Claim
from querymill_shared.queues import Queue
from querymill_shared.values import value


class Heartbeat(Protocol):
    """Tells the fleet that this process lives, so that nobody takes over its steps."""

    @property
    def life(self) -> str:
        """The life that holds the claims of this process, or "" if they are leases."""
        ...

    def keep(self, claim: Claim) -> AbstractContextManager[None]:
        """Renew a claim that takes long, until the block ends."""
        ...


@value
class Bell:
    """A message without content: it names the job and the step to look at, and the queue that carries it."""

    job_id: str
    step: str
    queue: Queue


def one_per_queue(bells: Iterable[Bell]) -> list[Bell]:
    """Return the first bell of each job and queue: the worker that hears it claims the others of that queue too."""
    return list({(bell.job_id, bell.queue): bell for bell in reversed(list(bells))}.values())[::-1]
