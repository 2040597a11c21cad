"""A worker whose models and store wait as long as a script says: what is left is our own overhead.

The board, the flow and Celery are the real ones. Beside them the same work as a Celery chord.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from celery import Celery

from querymill_shared.branches import HYDE
from querymill_shared.contracts.reports.ingest import Report
from querymill_workers import app as workers_app
from querymill_workers import wiring
from querymill_workers.dispatch.ports import Ports
from querymill_workers.inference.ports import InputType, Vectors
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.revisions import Revision
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.retrievers.reports.ports import FoundPassage, PassageText, PreparedReport
from querymill_workers.retrievers.reports.rules.chunking import Chunk
from querymill_workers.retrievers.reports.rules.fusion import HitKey
from querymill_workers.retrievers.reports.rules.routing import ReportCard
from querymill_workers.retrievers.reports.stores.memory import MemoryReports
from querymill_workers.retrievers.reports.stores.memory_life import MemoryReportLife
from querymill_workers.text.in_context import SaidTurn
from querymill_workers.words.memory import MemoryWords
from querymill_workers.words.ports import WordHit
from tests.benchmarks.script import COLLECTION, EMBEDDING_S, LLM_S, PAGES, SEARCH_S, found
from tests.fakes.answers import NoAnswers
from tests.fakes.ports import memory_ports


class WaitingEmbeddings:
    """Waits, then gives the same vector for every text; a text that begins with "cached" costs nothing."""

    model, dimensions, max_text_tokens = "scripted", 4, 8_191

    def embed(self, texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, ProviderUsage]:
        if not all(text.startswith("cached") for text in texts):
            time.sleep(EMBEDDING_S)
        return np.ones((len(texts), 4), np.float32), ProviderUsage(1, 1)

    def cached(self, texts: Sequence[str], *, input_type: InputType, collection: str) -> Vectors | None:
        return None


class WaitingRewriter:
    """Waits, then gives one new query, in the form that its branch asks for."""

    def rewrite(
        self, method: str, question: str, *, terms: Mapping[str, str], caller: Caller
    ) -> tuple[str, ProviderUsage]:
        time.sleep(LLM_S)
        return f"| {method} | {question} |" if method == HYDE else f"<{method} of {question}>", ProviderUsage(1, 1)

    def write_standalone(self, question: str, said: Sequence[SaidTurn], *, caller: Caller) -> tuple[str, ProviderUsage]:
        return self.rewrite("standalone", question, terms={}, caller=caller)


class WaitingReports(MemoryReports):
    """The store in memory, as slow as a search in a database, whose readers wait for nobody. It reads all once."""

    def __init__(self) -> None:
        super().__init__()
        self._cards: Sequence[ReportCard] = ()
        self._texts: Mapping[HitKey, PassageText] = {}

    def read_all(self) -> None:
        """Keep what searches read, as its price is that of a test double, and no search stores anything."""
        self._cards = super().cards(COLLECTION)
        self._texts = super().texts(COLLECTION, [HitKey("r", "page", page) for page in range(PAGES)])

    def cards(self, collection: str) -> Sequence[ReportCard]:
        return self._cards

    def texts(self, collection: str, keys: Sequence[HitKey]) -> Mapping[HitKey, PassageText]:
        return {key: self._texts[key] for key in keys}

    @contextmanager
    def reading(self) -> Iterator[None]:
        yield

    def search(
        self, collection: str, queries: Mapping[str, npt.NDArray[np.float32]], *, model: str,
        documents: Sequence[str], depth: int, per_document: bool, pages: bool,
    ) -> list[FoundPassage]:  # fmt: skip
        time.sleep(SEARCH_S)
        return found(queries)


class NoWords(MemoryWords):
    """A text index in which no question finds anything."""

    def search(self, *asked: Any, **options: Any) -> list[WordHit]:
        return []


def text_of(page: int) -> str:
    """Return the text of a page, unlike that of any other: near duplicates are one hit."""
    return " ".join(f"Item {number} rose to {page + number / 10:.1f} million." for number in range(1, 21))


def scripted_ports() -> Ports:
    """Build the ports: real board, waiting everything else."""
    reports = WaitingReports()
    report = Report.model_validate({
        "sha1": "r", "title": "Report", "company": "Acme", "published_at": date(2023, 1, 1),
        "pages": [{"page": page, "text": text_of(page)} for page in range(PAGES)],
    })  # fmt: skip
    chunks = [Chunk(page, page, text_of(page), 1) for page in range(PAGES)]
    life = MemoryReportLife(reports)
    life.put(COLLECTION, PreparedReport(report, Revision("r"), chunks))
    pending = reports.vectors.pending(COLLECTION, model="scripted", limit=PAGES)
    reports.vectors.fill(COLLECTION, dict.fromkeys(pending, np.ones(4, np.float32)), model="scripted")
    reports.read_all()
    return memory_ports(
        board=wiring.board(),
        heartbeat=wiring.heartbeat(),
        embeddings=WaitingEmbeddings(),
        rewriter=WaitingRewriter(),
        answers=NoAnswers(),
        reports=reports,
        report_life=life,
        words=NoWords(),
        count_tokens=len,
    )


# The one seam: the composition root gives the scripted world instead of the real one.
wiring.ports = cache(scripted_ports)
app: Celery = workers_app.app
