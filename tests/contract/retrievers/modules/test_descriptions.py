"""What every store of descriptions must do: in memory, and on PostgreSQL with pgvector."""

from collections.abc import Iterator

import numpy as np
import pytest

from querymill_shared.counters import FleetCounters
from querymill_workers.postgres.connection import Pool, open_pool
from querymill_workers.retrievers.modules.ports import Descriptions
from querymill_workers.retrievers.modules.rules.documents import DocumentId, encode_id
from querymill_workers.retrievers.modules.stores.memory_descriptions import MemoryDescriptions
from querymill_workers.retrievers.modules.stores.postgres_descriptions import VECTORS, PostgresDescriptions
from querymill_workers.vectors.ports import Vectors
from querymill_workers.vectors.postgres import PostgresVectors
from tests.fakes.vectors import vector_of


@pytest.fixture(scope="module")
def pool(database_url: str) -> Iterator[Pool]:
    with open_pool(database_url, max_size=2) as opened:
        yield opened


Stores = tuple[Descriptions, Vectors]


@pytest.fixture(params=["memory", "postgres"])
def stores(request: pytest.FixtureRequest) -> Stores:
    if request.param == "memory":
        descriptions = MemoryDescriptions()
        return descriptions, descriptions.vectors
    pool = request.getfixturevalue("pool")
    return PostgresDescriptions(pool), PostgresVectors(pool, "modules", VECTORS, FleetCounters(None))


@pytest.fixture
def descriptions(stores: Stores) -> Descriptions:
    return stores[0]


@pytest.fixture
def vectors(stores: Stores) -> Vectors:
    return stores[1]


def embed(vectors: Vectors, collection: str) -> None:
    waiting = vectors.pending(collection, model="m", limit=99)
    vectors.fill(collection, {passage: vector_of(passage.text) for passage in waiting}, model="m")


def nearest(descriptions: Descriptions, collection: str, text: str, **more: object) -> list[DocumentId]:
    options = {"model": "m", "limit": 9} | more
    return [found for found, _ in descriptions.nearest(collection, vector_of(text), **options).found]  # type: ignore[arg-type]


def test_the_nearest_descriptions_come_first_and_a_document_counts_once(
    descriptions: Descriptions, vectors: Vectors, collection: str
) -> None:
    descriptions.put(collection, {0: ["hot soup", "cold tea"], "0": ["nine ships"], "c.js": []})
    assert vectors.lacking(collection, model="m") == {'"0"': 1, "0": 2}
    assert descriptions.nearest(collection, vector_of("cold tea"), model="m", limit=9).pending == 3
    embed(vectors, collection)
    near = descriptions.nearest(collection, vector_of("cold tea"), model="m", limit=9)
    assert [document for document, _ in near.found] == [0, "0"]
    assert near.found[0][1] == pytest.approx(1)
    assert near.pending == 0
    assert nearest(descriptions, collection, "cold tea", limit=1) == [0]
    assert nearest(descriptions, collection, "cold tea", documents=["0", "c.js"]) == ["0"]
    assert nearest(descriptions, collection, "cold tea", documents=[]) == []
    assert nearest(descriptions, collection, "cold tea", model="other") == []


def test_a_collection_sees_no_other(descriptions: Descriptions, vectors: Vectors, collection: str) -> None:
    descriptions.put(collection, {1: ["hot soup"]})
    embed(vectors, collection)
    near = descriptions.nearest(f"{collection}x", vector_of("hot soup"), model="m", limit=9)
    assert (near.found, near.pending) == ([], 0)
    descriptions.drop(f"{collection}x", [1])
    assert nearest(descriptions, collection, "hot soup") == [1]


def test_a_zero_vector_is_near_nothing(descriptions: Descriptions, vectors: Vectors, collection: str) -> None:
    descriptions.put(collection, {1: ["hot soup"]})
    embed(vectors, collection)
    zero = np.zeros_like(vector_of("soup"))
    assert descriptions.nearest(collection, zero, model="m", limit=9).found == [(1, 0.0)]


def test_equally_near_descriptions_are_ordered_by_the_json_of_their_ids(
    descriptions: Descriptions, vectors: Vectors, collection: str
) -> None:
    ids: list[DocumentId] = [9, 10, -3, "9", "b.js", "a b.js", "a", "船.js", "\t", 'a"b\\c', "\x7f\x1f", '"', "-", ""]
    descriptions.put(collection, {document: ["hot soup"] for document in ids})
    embed(vectors, collection)
    assert nearest(descriptions, collection, "hot soup", limit=99) == sorted(ids, key=encode_id)
    assert nearest(descriptions, collection, "hot soup", limit=5) == sorted(ids, key=encode_id)[:5]
