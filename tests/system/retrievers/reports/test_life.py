"""The life of a report on real servers: found at once by its words, embedded, embedded again, and dropped."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import uuid4

from querymill import (
    DropDocuments,
    IngestReports,
    IngestReportsResult,
    Querymill,
    QuerymillError,
    Reembed,
    Report,
    ReportResult,
    ReportSearch,
)
from tests.fakes.openai_server import Answer, OpenAIServer, embedded
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment, embedding_after

PAGES = ["the ferry of Zanzibar costs nine shillings", *(f"page {n} tells of the harbour" for n in range(20))]


def ingestion(collection: str, *pages: str) -> IngestReports:
    report = {
        "sha1": "z1", "title": "Zanzibar 2022", "company": "Nordhav", "period": "2022", "type": "annual",
        "pages": [{"page": number, "text": text} for number, text in enumerate(pages, start=1)],
    }  # fmt: skip
    return IngestReports(collection=collection, documents=(Report.model_validate(report),))


def search(mill: Querymill, collection: str, query: str = "what does Zanzibar cost", **fields: Any) -> ReportResult:
    request = ReportSearch.model_validate({"collection": collection, "query": query, "deadline": 30} | fields)
    return mill.submit(request).result(timeout=40)


def holding(passages: threading.Event) -> Callable[[dict[str, Any]], Answer]:
    """An embedding model that answers questions at once, and passages once they may be."""

    def embed(request: dict[str, Any]) -> Answer:
        if any("harbour" in text for text in request["input"]):
            passages.wait(60)
        return embedded(request)

    return embed


def test_what_was_answered_done_is_found_at_once_and_dropped_for_good(
    worker: WorkerProcess, mill: Querymill, openai_server: OpenAIServer, deployment: Deployment
) -> None:
    assert worker.process is not None
    collection, free = f"c{uuid4().hex[:8]}", threading.Event()
    openai_server.script.embeddings = holding(free)
    request = ingestion(collection, *PAGES)
    job = mill.submit(request)
    stored: IngestReportsResult = job.result(timeout=30)
    assert (stored.documents[0].outcome, stored.total) == ("ingested", 21)
    early = search(mill, collection)
    assert [part.stage for part in early.degraded] == ["embed"]
    assert PAGES[0] in [hit.text for hit in early.results]
    free.set()
    assert embedding_after(mill, job).result(timeout=60).total == 21
    whole = search(mill, collection, filter={"type": "annual"}, metadata=True)
    assert (whole.complete, whole.results[0].text) == (True, PAGES[0])
    assert whole.results[0].metadata == {"type": "annual"}
    assert search(mill, collection, filter={"type": "interim"}).results == ()
    reembedded = mill.submit(
        Reembed(collection=collection, retriever="reports", model=deployment.settings.embedding_model)
    )
    assert reembedded.result(timeout=60).total == 0
    dropping = DropDocuments(collection=collection, retriever="reports", ids=("z1",))
    assert mill.submit(dropping).result(timeout=30).total == 1
    assert search(mill, collection).results == ()


def test_dropping_a_report_stops_what_was_not_yet_sent(
    worker: WorkerProcess, mill: Querymill, openai_server: OpenAIServer
) -> None:
    assert worker.process is not None
    collection, free = f"c{uuid4().hex[:8]}", threading.Event()
    openai_server.script.embeddings = holding(free)
    request = ingestion(collection, *[f"{uuid4().hex} tells of the harbour" for _ in range(40)])
    openai_server.requests.clear()
    job = mill.submit(request)
    embedding = embedding_after(mill, job)
    until = time.monotonic() + 30
    while not openai_server.seen("embeddings"):
        assert time.monotonic() < until
        time.sleep(0.02)
    mill.submit(DropDocuments(collection=collection, retriever="reports", ids=("z1",))).result(timeout=30)
    free.set()
    with suppress(QuerymillError):  # the drop may have deleted the job
        embedding.result(timeout=30)
    assert sum(len(body["input"]) for body in openai_server.seen("embeddings")) <= 8
