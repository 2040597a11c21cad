"""What every store of descriptions must do: in memory, and on PostgreSQL with pgvector."""

from collections.abc import Iterator
from uuid import uuid4

import numpy as np
import pytest

from querymill_workers.postgres.connection import Pool, open_pool
from querymill_workers.retrievers.modules.ports import Descriptions
from querymill_workers.retrievers.modules.rules.documents import DocumentId
from querymill_workers.retrievers.modules.stores.memory_descriptions import MemoryDescriptions
from querymill_workers.retrievers.modules.stores.postgres import PostgresRegister
from querymill_workers.retrievers.modules.stores.postgres_descriptions import PostgresDescriptions
from tests.fakes.vectors import vector_of


@pytest.fixture(scope="module")
def pool(database_url: str) -> Iterator[Pool]:
    with open_pool(database_url, max_size=2) as opened:
        yield opened


@pytest.fixture(params=["memory", "postgres"])
def descriptions(request: pytest.FixtureRequest) -> Descriptions:
    if request.param == "memory":
        return MemoryDescriptions()
    return PostgresDescriptions(request.getfixturevalue("pool"))


@pytest.fixture
def collection() -> str:
    return f"c{uuid4().hex}"


def embed(descriptions: Descriptions, collection: str, model: str = "m") -> None:
    waiting = descriptions.pending(collection, model=model, limit=99)
    descriptions.fill(collection, waiting, [vector_of(passage.text) for passage in waiting], model=model)


def nearest(descriptions: Descriptions, collection: str, text: str, **more: object) -> list[DocumentId]:
    options = {"model": "m", "limit": 9} | more
    return [found for found, _ in descriptions.nearest(collection, vector_of(text), **options).found]  # type: ignore[arg-type]


def test_the_nearest_descriptions_come_first_and_a_document_counts_once(
    descriptions: Descriptions, collection: str
) -> None:
    descriptions.put(collection, {0: ["hot soup", "cold tea"], "0": ["nine ships"], "c.js": []})
    assert [(each.document, each.number) for each in descriptions.pending(collection, model="m", limit=9)] == [
        ("0", 0), (0, 0), (0, 1),
    ]  # fmt: skip
    embed(descriptions, collection)
    near = descriptions.nearest(collection, vector_of("cold tea"), model="m", limit=9)
    assert [document for document, _ in near.found] == [0, "0"]
    assert near.found[0][1] == pytest.approx(1)
    assert near.pending == 0
    assert nearest(descriptions, collection, "cold tea", limit=1) == [0]
    assert nearest(descriptions, collection, "cold tea", documents=["0", "c.js"]) == ["0"]
    assert nearest(descriptions, collection, "cold tea", documents=[]) == []
    assert nearest(descriptions, collection, "cold tea", model="other") == []


def test_a_collection_sees_no_other(descriptions: Descriptions, collection: str) -> None:
    descriptions.put(collection, {1: ["hot soup"]})
    embed(descriptions, collection)
    near = descriptions.nearest(f"{collection}x", vector_of("hot soup"), model="m", limit=9)
    assert (near.found, near.pending) == ([], 0)
    descriptions.drop(f"{collection}x", [1])
    descriptions.drop_other_models(f"{collection}x", model="other")
    assert nearest(descriptions, collection, "hot soup") == [1]


def test_an_unchanged_passage_keeps_its_vector_and_a_changed_one_waits(
    descriptions: Descriptions, collection: str
) -> None:
    descriptions.put(collection, {1: ["hot soup", "cold tea"], 2: ["nine ships"]})
    embed(descriptions, collection)
    waiting = descriptions.count_pending(collection, model="m")
    descriptions.put(collection, {1: ["hot soup", "warm tea"]})
    assert (waiting, descriptions.count_pending(collection, model="m")) == (0, 1)
    assert descriptions.nearest(collection, vector_of("tea"), model="m", limit=9).pending == 1
    descriptions.put(collection, {1: ["hot soup"]})
    assert descriptions.count_pending(collection, model="m") == 0
    assert nearest(descriptions, collection, "hot soup") == [1, 2]


def test_a_vector_of_a_text_that_changed_or_went_meanwhile_is_not_stored(
    descriptions: Descriptions, collection: str
) -> None:
    descriptions.put(collection, {1: ["hot soup"], 2: ["cold tea"]})
    waiting = descriptions.pending(collection, model="m", limit=9)
    descriptions.put(collection, {1: ["cold soup"]})
    descriptions.drop(collection, [2])
    assert descriptions.still_pending(collection, waiting, model="m") == []
    descriptions.fill(collection, waiting, [vector_of(passage.text) for passage in waiting], model="m")
    assert nearest(descriptions, collection, "soup") == []
    assert descriptions.count_pending(collection, model="m") == 1


def test_a_refused_passage_waits_no_more_until_it_is_tried_again(descriptions: Descriptions, collection: str) -> None:
    descriptions.put(collection, {1: ["hot soup"]})
    waiting = descriptions.pending(collection, model="m", limit=9)
    descriptions.fill(collection, waiting, [None], model="m")
    assert (nearest(descriptions, collection, "soup"), descriptions.count_pending(collection, model="m")) == ([], 0)
    descriptions.retry(collection, model="other")
    assert descriptions.count_pending(collection, model="m") == 0
    descriptions.retry(collection, model="m")
    assert descriptions.still_pending(collection, waiting, model="m") == waiting


def test_the_vectors_of_other_models_go(descriptions: Descriptions, collection: str) -> None:
    descriptions.put(collection, {1: ["hot soup"]})
    for model in ("m", "n"):
        embed(descriptions, collection, model)
    descriptions.drop_other_models(collection, model="n")
    assert (nearest(descriptions, collection, "soup"), nearest(descriptions, collection, "soup", model="n")) == (
        [],
        [1],
    )


def test_a_zero_vector_is_near_nothing(descriptions: Descriptions, collection: str) -> None:
    descriptions.put(collection, {1: ["hot soup"]})
    embed(descriptions, collection)
    zero = np.zeros_like(vector_of("soup"))
    assert descriptions.nearest(collection, zero, model="m", limit=9).found == [(1, 0.0)]


def test_a_document_of_the_release_before_counts_as_pending_and_its_old_description_is_not_compared(
    pool: Pool, collection: str
) -> None:
    descriptions, register = PostgresDescriptions(pool), PostgresRegister(pool)
    register.register(collection, [1], "first")
    assert descriptions.undescribed(collection, limit=9) == [1]
    assert descriptions.count_pending(collection, model="m") == 1
    descriptions.put(collection, {1: ["hot soup"]})
    embed(descriptions, collection)
    assert (descriptions.undescribed(collection, limit=9), nearest(descriptions, collection, "soup")) == ([], [1])
    register.register(collection, [1], "second")
    near = descriptions.nearest(collection, vector_of("soup"), model="m", limit=9)
    assert (near.found, near.pending) == ([], 1)
