"""A session of long messages, the largest too: one text is refused by the provider, and all others are found."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from uuid import uuid4

import numpy as np
import pytest

from querymill_shared.contracts.messages.ingest import IngestMessages, IngestMessagesResult
from querymill_shared.contracts.sessions import ChatSession
from querymill_shared.contracts.vectors import EmbedDocumentsResult, Reembed, ReembedResult
from querymill_shared.counters import FleetCounters
from querymill_workers.inference.ports import InputType, Vectors
from querymill_workers.inference.work import Unacceptable
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.messages import embed
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter
from querymill_workers.retrievers.messages.stores.postgres_sessions import PostgresSessions
from querymill_workers.stores import vectors_in
from querymill_workers.versions.postgres import PostgresVersions
from querymill_workers.words.postgres import PostgresWords
from tests.fakes.models import WordEmbeddings
from tests.fixtures.chats import messages_in
from tests.fixtures.world import World, world

__all__ = ["world"]

CHARS = 100_000
#: Few: what counts is how many vectors there are.
DIMENSIONS = 8


class Strict(WordEmbeddings):
    """Gives each text a direction of its own, at little cost, and refuses what is too much for it."""

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self.dimensions = DIMENSIONS

    def embed(self, texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, ProviderUsage]:
        if "refused by the provider" in texts:
            raise Unacceptable("embedding rejected: HTTP 400", words="input cannot be read")
        return np.stack([direction_of(text) for text in texts]), ProviderUsage(1, len(texts))


def direction_of(text: str) -> np.ndarray:
    return np.random.default_rng(zlib.crc32(text.encode())).standard_normal(DIMENSIONS).astype(np.float32)


def long_text(number: int) -> str:
    lines = (f"Long message {number} tells in line {line} of ropes and sails.\n" for line in range(CHARS))
    text = ""
    while len(text) < CHARS:
        text += next(lines)
    return text[:CHARS]


def session_of(size: int, *, long: int) -> ChatSession:
    """A session with so many messages, some of which are long."""
    texts = [f"message {number}" for number in range(size)]
    for number in range(long):
        texts[number * 400 + 7] = long_text(number)
    texts[size // 2] = "refused by the provider"
    messages = [{"message_id": f"m{number}", "text": text} for number, text in enumerate(texts)]
    return ChatSession.model_validate({"session_id": "s", "started_at": "2026-01-01T10:00:00Z", "messages": messages})


@pytest.fixture
def stored(world: World, database_url: str) -> Iterator[World]:
    """The world with the stores of PostgreSQL."""
    with open_pool(database_url, max_size=16) as pool:
        world.with_ports(
            messages=messages_in(pool),
            sessions=PostgresSessions(pool),
            words=PostgresWords(pool),
            versions=PostgresVersions(pool),
            vectors=vectors_in(pool, FleetCounters(None)),
            embeddings=Strict("strict"),
        )
        yield world


def refused(world: World, collection: str, model: str) -> list[tuple[str, str]]:
    found = world.ports.vectors["messages"].refused(collection, limit=99)
    return [(text.key.document, text.reason) for text in found if text.key.model == model]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("size", "long"), [(700, 2), pytest.param(5_000, 10, marks=pytest.mark.nightly)])
def test_all_but_one_are_found_by_vector_the_one_is_named_and_the_collection_switches(
    stored: World, monkeypatch: pytest.MonkeyPatch, size: int, long: int
) -> None:
    # The calls of this model cost nothing.
    monkeypatch.setattr(embed, "EMBEDDABLE", replace(embed.EMBEDDABLE, batch=256))
    collection = f"c{uuid4().hex}"
    ingested = stored.result(
        stored.run(IngestMessages(collection=collection, documents=(session_of(size, long=long),)))
    )
    assert isinstance(ingested, IngestMessagesResult)
    assert ingested.documents[0].outcome == "ingested"
    result = stored.result(str(ingested.embedding_jobs[0]))
    assert isinstance(result, EmbedDocumentsResult)
    assert (result.total, result.complete) == (ingested.total - 1, False)
    assert refused(stored, collection, "strict") == [("s", "embedding rejected: HTTP 400: input cannot be read")]
    where = MessageFilter(collection, ("message", "context"))
    part = long_text(1)[50_000:50_200].split("\n")[1]
    near = stored.ports.messages.nearest(where, direction_of("message 77"), model="strict", limit=1, floor=-2)
    assert (near.rows[0].message_id, near.skipped, near.pending) == ("m77", 1, 0)
    (hit, *_) = stored.ports.words.search(collection, "messages", part, limit=3)
    (row,) = stored.ports.messages.rows(where, [hit.id], direction_of(part), model="strict").values()
    assert (row.message_id, row.content, row.passage is not None) == ("m407", long_text(1), True)

    stored.with_ports(embeddings=Strict("stricter"))
    switched = stored.result(stored.run(Reembed(collection=collection, retriever="messages", model="stricter")))
    assert isinstance(switched, ReembedResult)
    assert (switched.total, switched.complete) == (ingested.total - 1, False)
    assert stored.ports.vectors["messages"].active_model(collection) == "stricter"
    assert len(refused(stored, collection, "stricter")) == 1
