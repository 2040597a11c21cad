"""Vectors of conversations on real servers and real workers: they follow the words, and are forgotten with them."""

import threading
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from querymill import ConversationResult, ConversationSearch, IngestConversations, IngestConversationsResult, Querymill
from querymill_shared.contracts.documents import DropDocuments
from querymill_workers.retrievers.conversations.embed import EMBEDDABLE
from tests.fakes.openai_server import Answer, OpenAIServer, embedded
from tests.fakes.worker import WorkerProcess
from tests.fixtures.chats import session
from tests.fixtures.deployment import finish_embedding
from tests.fixtures.words import see

LONG = "lorem " * 65


@pytest.fixture
def collection(worker: WorkerProcess, mill: Querymill) -> Iterator[str]:
    yield f"talks-{uuid4().hex[:12]}"
    finish_embedding(mill)


def take_in(mill: Querymill, collection: str, session_id: str, *texts: str) -> IngestConversationsResult:
    return mill.submit(IngestConversations(collection=collection, documents=(session(session_id, *texts),))).result(20)


def ask(mill: Querymill, collection: str, query: str) -> ConversationResult:
    return mill.submit(ConversationSearch(collection=collection, query=query)).result(40)


def translated(request: dict[str, Any]) -> Answer:
    """Embed texts by a model that knows Chinese."""
    return embedded(request | {"input": [text.replace("帆船", " ships ") for text in request["input"]]})


def rows(database: psycopg.Connection, collection: str) -> list[int]:
    """Count the passages and vectors of a collection."""
    counted = []
    with database.transaction():
        see(database, collection)
        for table in ("conversation_passages", "conversation_vectors"):
            held = database.execute(f"SELECT FROM {table} WHERE collection = %s", [collection]).fetchall()
            counted.append(len(held))
    return counted


def test_words_answer_at_once_and_a_chinese_question_finds_an_english_session_once_the_vectors_follow(
    mill: Querymill, collection: str, openai_server: OpenAIServer
) -> None:
    goes_on = threading.Event()

    def waits(request: dict[str, Any]) -> Answer:
        if any("ships" in text for text in request["input"]):
            goes_on.wait(60)
        return translated(request)

    openai_server.script.embeddings = waits
    ingested = take_in(mill, collection, "a", "nine ships at sea")
    at_once = ask(mill, collection, "ships")
    assert [hit.session_id for hit in at_once.results] == ["a"]
    assert "embed" in [gap.stage for gap in at_once.degraded]
    goes_on.set()
    assert ingested.embedding_jobs
    assert mill.job(ingested.embedding_jobs[0]).result(60).total == 1
    take_in(mill, collection, "b", "soup for lunch")
    found = ask(mill, collection, "帆船")
    assert found.results[0].session_id == "a"
    assert "words" not in found.results[0].explanation["joined"]["ranks"]


def test_a_session_that_is_forgotten_while_it_is_embedded_leaves_nothing(
    mill: Querymill, collection: str, openai_server: OpenAIServer, database: psycopg.Connection
) -> None:
    asked, goes_on = threading.Event(), threading.Event()

    def waits(request: dict[str, Any]) -> Answer:
        asked.set()
        goes_on.wait(60)
        return embedded(request)

    openai_server.script.embeddings = waits
    take_in(mill, collection, "a", *(f"{number} {LONG}" for number in range(2 * EMBEDDABLE.batch)))
    assert asked.wait(60)
    dropped = mill.submit(DropDocuments(collection=collection, retriever="conversations", ids=("a",))).result(20)
    assert dropped.outcome == "forgotten"
    goes_on.set()
    other = take_in(mill, collection, "b", "soup")
    assert other.embedding_jobs
    mill.job(other.embedding_jobs[0]).result(60)
    assert rows(database, collection) == [1, 1], "of the session that stays"
    sent = {text for request in openai_server.seen("embeddings") for text in request["input"] if "lorem" in text}
    assert len(sent) <= EMBEDDABLE.batch
