"""A worker whose models and store wait as long as a script says: what is left is our own overhead.

The board, the flow and Celery are the real ones. Beside them the same work as a Celery chord.
"""

import time
from collections.abc import Mapping, Sequence
from datetime import date

import numpy as np
import numpy.typing as npt
from celery import Celery

from querymill_shared.contracts.reports.ingest import Report
from querymill_workers import app as workers_app
from querymill_workers import wiring
from querymill_workers.dispatch.ports import Ports
from querymill_workers.inference.ports import Caller, InputType, Vectors
from querymill_workers.jobs.heartbeat import Heartbeat
from querymill_workers.jobs.revisions import Revision
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.reports.ports import FoundPassage
from querymill_workers.retrievers.reports.rules.chunking import Chunk
from querymill_workers.retrievers.reports.stores.memory import MemoryReports
from tests.benchmarks.script import COLLECTION, EMBEDDING_S, LLM_S, PAGES, SEARCH_S, found
from tests.fakes.answers import NoAnswers
from tests.fakes.ports import memory_ports


class WaitingEmbeddings:
    """Waits, then gives the same vector for every text; texts seen before cost nothing, as in the cache."""

    model, dimensions = "scripted", 4

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def embed(self, texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, Usage]:
        if not self._seen.issuperset(texts):
            time.sleep(EMBEDDING_S)
        if any(text.startswith("cached") for text in texts):
            self._seen.update(texts)
        return np.ones((len(texts), 4), np.float32), Usage(1, 1)


class WaitingRewriter:
    """Waits, then gives one new query."""

    def rewrite(self, method: str, question: str, *, terms: Mapping[str, str], caller: Caller) -> tuple[str, Usage]:
        time.sleep(LLM_S)
        return f"<{method} of {question}>", Usage(1, 1)


class WaitingReports(MemoryReports):
    """The store in memory, as slow as a search in a database."""

    def search(
        self, collection: str, queries: Mapping[str, npt.NDArray[np.float32]], *, model: str,
        documents: Sequence[str], depth: int, per_document: bool, pages: bool,
    ) -> list[FoundPassage]:  # fmt: skip
        time.sleep(SEARCH_S)
        return found(queries)


def scripted_ports() -> Ports:
    """Build the ports: real board, waiting everything else."""
    settings = wiring.settings()
    reports = WaitingReports()
    report = Report.model_validate({
        "sha1": "r", "title": "Report", "company": "Acme", "published_at": date(2023, 1, 1),
        "pages": [{"page": page, "text": "text"} for page in range(PAGES)],
    })  # fmt: skip
    chunks = [Chunk(page, page, "text", 1) for page in range(PAGES)]
    revision = Revision("r")
    reports.draft(COLLECTION, "r", revision, chunks, np.ones((PAGES, 4), np.float32))
    reports.publish(COLLECTION, report, revision, model="scripted", chunks=PAGES)
    return memory_ports(
        board=wiring.board(),
        heartbeat=Heartbeat(wiring.board(), lease_s=settings.querymill_lease_s),
        embeddings=WaitingEmbeddings(),
        rewriter=WaitingRewriter(),
        answers=NoAnswers(),
        reports=reports,
        count_tokens=len,
    )


_ports = scripted_ports()
# The one seam: the composition root gives the scripted world instead of the real one.
wiring.ports = lambda: _ports  # type: ignore[assignment]
app: Celery = workers_app.app
app.conf.include = ["querymill_workers.tasks"]
