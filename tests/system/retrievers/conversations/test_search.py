"""Searching conversations: real board, real database, real workers."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from querymill import ConversationResult, ConversationSearch, IngestConversations, Querymill
from querymill.cli.kinds.conversations.demo import ASKED
from querymill.ingesting.jsonl import GoodLine
from querymill.ingesting.kinds.conversations import LINES
from querymill_shared.contracts.documents import DropDocuments
from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.conversations.ports.sessions import SPACE
from querymill_workers.words.postgres import PostgresWords
from tests.fakes.worker import WorkerProcess
from tests.fixtures.chats import session
from tests.fixtures.deployment import Deployment, finish_embedding

SAMPLE = Path(str(resources.files("querymill_embedded") / "sample" / "conversations.jsonl"))


@pytest.fixture
def collection(worker: WorkerProcess, mill: Querymill) -> Iterator[str]:
    yield f"talks-{uuid4().hex[:12]}"
    finish_embedding(mill)


def take_in(mill: Querymill, collection: str, session_id: str, *texts: str) -> None:
    mill.submit(IngestConversations(collection=collection, documents=(session(session_id, *texts),))).result(20)


def ask(mill: Querymill, collection: str, query: str, **fields: object) -> ConversationResult:
    request = ConversationSearch.model_validate({"collection": collection, "query": query} | fields)
    return mill.submit(request).result(40)


def ids(result: ConversationResult) -> list[str]:
    return [hit.session_id for hit in result.results]


def generation(database: psycopg.Connection, collection: str) -> int:
    row = database.execute(
        "SELECT generation FROM conversation_collections WHERE collection = %s", [collection]
    ).fetchone()
    return row[0] if row else 0


def until_ranks_rest(database: psycopg.Connection, collection: str) -> None:
    """Wait until the background updates of the ranks are over: each is a change of its own."""
    known, since = generation(database, collection), time.monotonic()
    while time.monotonic() - since < 3:
        time.sleep(0.1)
        if (now := generation(database, collection)) != known:
            known, since = now, time.monotonic()


@contextmanager
def paused(worker: WorkerProcess) -> Iterator[None]:
    """Stop a worker for a while, so that the others answer; a bell it took is rung again."""
    assert worker.process is not None
    worker.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        worker.process.send_signal(signal.SIGCONT)


def test_the_sample_is_found_by_what_was_said_and_when(mill: Querymill, collection: str) -> None:
    sessions = tuple(line.document for line in LINES.read(SAMPLE) if isinstance(line, GoodLine))
    mill.submit(IngestConversations(collection=collection, documents=sessions)).result(60)
    by_time, chinese, lost = (
        mill.submit(request.model_copy(update={"collection": collection})).result(40) for request in ASKED
    )
    assert ids(by_time)[0] == "cache-choice"
    assert [one.read_as for one in by_time.understanding.corrections] == ["product"]
    assert ids(chinese)[0] == "pool-zh"
    assert chinese.understanding.synonyms
    assert {"retry-code", "retry-zh"} >= set(ids(lost)[:1])
    assert lost.why_not is not None
    assert lost.why_not.failed is not None
    assert lost.why_not.failed.name in {"words", "score", "candidates"}
    assert all(hit.snippet for result in (by_time, chinese, lost) for hit in result.results)


@pytest.mark.nightly  # by day: test_ranks.py
def test_a_change_is_seen_by_the_next_search_on_every_worker_however_warm(
    mill: Querymill, collection: str, worker: WorkerProcess, deployment: Deployment, database: psycopg.Connection
) -> None:
    take_in(mill, collection, "old", "nine ships at sea")
    with WorkerProcess(deployment.environment, queues="search,expand,rerank") as other:
        until_ranks_rest(database, collection)
        for resting in (worker, other):
            with paused(resting):
                assert ids(ask(mill, collection, "ships", scoring="bm25")) == ["old"]
        # Both are warm: the words go behind their backs, and both answer all the same.
        with open_pool(deployment.settings.database_url.get_secret_value(), max_size=1) as pool:
            PostgresWords(pool).drop(collection, SPACE, ["old"])
        for resting in (worker, other):
            with paused(resting):
                assert ids(ask(mill, collection, "ships", scoring="bm25")) == ["old"]
        take_in(mill, collection, "new", "ships in the harbour")
        for resting in (worker, other):
            with paused(resting):
                assert ids(ask(mill, collection, "ships", scoring="bm25")) == ["new"]
        mill.submit(DropDocuments(collection=collection, retriever="conversations", ids=("new",))).result(20)
        for resting in (worker, other):
            with paused(resting):
                assert ids(ask(mill, collection, "ships", scoring="bm25")) == []
