"""The workers in one thread of this process, without a server. This is the composition root for tests.

`querymill.testing.MemoryMill` finds `MemoryWorkers` by its entry point.
"""

import threading
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from queue import Empty, SimpleQueue
from typing import Final

from querymill_shared.board import Claim, MemoryBoard
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.settings import MODULE_SHORTHANDS, Settings
from querymill_workers.dispatch import journey
from querymill_workers.dispatch.ports import Ports
from querymill_workers.dispatch.sweeper import sweep
from querymill_workers.inference.memory import WordAnswers, WordEmbeddings, WordJudge, WordRewriter
from querymill_workers.jobs.bell import Bell
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.retrievers.conversations.stores.caches import conversation_caches
from querymill_workers.retrievers.conversations.stores.memory import MemoryConversations
from querymill_workers.retrievers.conversations.stores.memory_ranks import MemoryRanks
from querymill_workers.retrievers.files.parsing.tree_sitter import TreeSitterParser
from querymill_workers.retrievers.files.profiles import file_profiles
from querymill_workers.retrievers.files.stores.memory import MemoryFiles
from querymill_workers.retrievers.messages.stores.memory import MemoryMessages
from querymill_workers.retrievers.modules.stores.memory import MemoryModules
from querymill_workers.retrievers.reports.glossary import bundled
from querymill_workers.retrievers.reports.stores.memory import MemoryReports
from querymill_workers.services.stores.memory import MemoryTextVectors
from querymill_workers.text.calibration import IDENTITY
from querymill_workers.text.tokens import estimate
from querymill_workers.words.memory import MemoryWords

#: Seconds between two sweeps.
SWEEP_EVERY_S: Final = 0.025


class NoHeartbeat:
    """A heartbeat that renews no lease: the only thread that could take over the step is the one that runs it."""

    def keep(self, claim: Claim) -> nullcontext[None]:  # noqa: ARG002  # the port's signature
        """Do nothing."""
        return nullcontext()


def ports_in_memory() -> Ports:
    """Return ports that need neither a server nor a model."""
    messages, conversations, settings = MemoryMessages(), MemoryConversations(), Settings()
    return Ports(
        board=MemoryBoard(settings),
        heartbeat=NoHeartbeat(),
        embeddings=WordEmbeddings(),
        rewriter=WordRewriter(),
        judge=WordJudge(),
        answers=WordAnswers(),
        reports=MemoryReports(),
        text_vectors=MemoryTextVectors(),
        modules=MemoryModules(),
        messages=messages,
        sessions=messages.sessions,
        files=MemoryFiles(),
        parser=TreeSitterParser(),
        conversations=conversations,
        conversation_caches=conversation_caches(),
        ranks=MemoryRanks(conversations),
        technical_keywords=TechnicalKeywords(),
        file_profiles=file_profiles(),
        calibration=IDENTITY,
        words=MemoryWords(),
        shorthands=MODULE_SHORTHANDS,
        glossary=bundled(),
        count_tokens=estimate,
        clock=time.monotonic,
        max_attempts=settings.querymill_max_attempts,
    )


class MemoryWorkers:
    """A board in memory, and a thread that runs the steps of its bells and sweeps in between."""

    def __init__(self) -> None:
        self.ports = ports_in_memory()
        self._bells: SimpleQueue[Bell] = SimpleQueue()
        self._stopping = threading.Event()
        self._swept_at = 0.0
        self._thread = threading.Thread(target=self._work, name="memory workers", daemon=True)
        self._thread.start()

    def ring(self, job_id: str, request: JobRequest) -> None:
        """Ring for every step of a job."""
        self._ring_all([Bell(job_id, step, request.queue_of(step)) for step in request.steps])

    def close(self) -> None:
        """Stop after the current step."""
        self._stopping.set()
        self._thread.join()

    def _ring_all(self, bells: Sequence[Bell]) -> None:
        for bell in bells:
            self._bells.put(bell)

    def _work(self) -> None:
        while not self._stopping.is_set():
            with suppress(Empty):
                self._ring_all(journey.run_step(self._bells.get(timeout=SWEEP_EVERY_S), self.ports))
            if self.ports.clock() - self._swept_at >= SWEEP_EVERY_S:
                self._ring_all(sweep(self.ports))
                self._swept_at = self.ports.clock()
