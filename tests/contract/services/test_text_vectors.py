"""What every store of single texts' vectors must do: run on the one in memory and on PostgreSQL."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import uuid4

import numpy as np
import psycopg
import pytest

from querymill_workers.jobs.revisions import ContentHash
from querymill_workers.postgres.connection import open_pool
from querymill_workers.services.ports import TextVector, TextVectors, content_of
from querymill_workers.services.stores.memory import MemoryTextVectors
from querymill_workers.services.stores.postgres import PostgresTextVectors
from tests.fakes.vectors import DIMENSIONS, vector_of


@pytest.fixture(params=["memory", "postgres"])
def text_vectors(request: pytest.FixtureRequest) -> Iterator[TextVectors]:
    if request.param == "memory":
        yield MemoryTextVectors()
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool:
        yield PostgresTextVectors(pool)


@pytest.fixture
def collection() -> str:
    return f"c{uuid4().hex}"


def vector(text_id: str, text: str) -> TextVector:
    return TextVector(text_id, ContentHash(f"hash of {text}"), vector_of(text))


def test_what_was_stored_is_known_by_its_hash(text_vectors: TextVectors, collection: str) -> None:
    text_vectors.store(collection, [vector("a", "ships"), vector("b", "soup")], model="words")
    stored = text_vectors.stored(collection, ["a", "b", "c"], model="words")
    assert stored == {"a": "hash of ships", "b": "hash of soup"}


def test_a_changed_text_takes_the_place_of_what_it_was(text_vectors: TextVectors, collection: str) -> None:
    text_vectors.store(collection, [vector("a", "ships")], model="words")
    text_vectors.store(collection, [vector("a", "soup")], model="words")
    assert text_vectors.stored(collection, ["a"], model="words") == {"a": "hash of soup"}


def test_no_collection_and_no_model_sees_the_rows_of_another(text_vectors: TextVectors, collection: str) -> None:
    text_vectors.store(collection, [vector("a", "ships")], model="words")
    assert text_vectors.stored(f"{collection}x", ["a"], model="words") == {}
    assert text_vectors.stored(collection, ["a"], model="others") == {}
    text_vectors.store(collection, [vector("a", "soup")], model="others")
    assert text_vectors.stored(collection, ["a"], model="words") == {"a": "hash of ships"}


def test_nothing_is_stored_of_nothing(text_vectors: TextVectors, collection: str) -> None:
    text_vectors.store(collection, [], model="words")
    assert text_vectors.stored(collection, [], model="words") == {}


def test_a_vector_in_the_table_is_the_one_stored_to_the_last_bit(
    database_url: str, database: psycopg.Connection, collection: str
) -> None:
    with open_pool(database_url, max_size=1) as pool:
        PostgresTextVectors(pool).store(collection, [vector("a", "ships sail by night")], model="words")
    statement = "SELECT embedding::real[] FROM text_vectors WHERE collection = %s"
    ((floats,),) = database.execute(statement, [collection]).fetchall()
    assert np.array_equal(np.array(floats, np.float32), vector_of("ships sail by night"))


def test_storing_the_same_again_does_not_touch_the_row(
    database_url: str, database: psycopg.Connection, collection: str
) -> None:
    statement = "SELECT text_id, created_at, xmin FROM text_vectors WHERE collection = %s"
    with open_pool(database_url, max_size=1) as pool:
        rows = PostgresTextVectors(pool)
        rows.store(collection, [vector("a", "ships")], model="words")
        first = database.execute(statement, [collection]).fetchall()
        rows.store(collection, [vector("a", "ships")], model="words")
    assert database.execute(statement, [collection]).fetchall() == first


def test_jobs_that_write_the_same_rows_at_once_do_not_deadlock(database_url: str, collection: str) -> None:
    there = [vector(f"t{number}", "ships") for number in range(200)]
    back = [vector(f"t{number}", "soup") for number in reversed(range(200))]
    with open_pool(database_url, max_size=4) as pool, ThreadPoolExecutor(4) as threads:
        rows = PostgresTextVectors(pool)
        writes = [threads.submit(rows.store, collection, some, model="words") for some in (there, back) * 4]
        for write in writes:
            write.result()
        assert len(rows.stored(collection, [vector.text_id for vector in there], model="words")) == 200


def test_models_of_two_dimensions_stand_side_by_side(text_vectors: TextVectors, collection: str) -> None:
    wide = TextVector("a", ContentHash("h"), np.ones(DIMENSIONS + 1, np.float32))
    text_vectors.store(collection, [vector("a", "ships")], model="words")
    text_vectors.store(collection, [wide], model="wide")
    assert text_vectors.stored(collection, ["a"], model="words") == {"a": "hash of ships"}
    assert text_vectors.stored(collection, ["a"], model="wide") == {"a": "h"}


def test_parts_of_a_document_are_forgotten_with_it_and_a_changed_text_is_no_part_of_it(
    text_vectors: TextVectors, collection: str
) -> None:
    rows = [replace(vector(text_id, text_id), document="doc") for text_id in "abc"]
    text_vectors.store(collection, rows, model="words")
    text_vectors.store(collection, [vector("a", "a"), vector("b", "soup"), vector("d", "d")], model="words")
    text_vectors.assign(collection, {"d": "doc", "unknown": "doc"}, model="words")
    text_vectors.assign(collection, {"c": "other"}, model="words")
    text_vectors.drop(collection, text_ids=["doc"], texts=[])
    assert ids_of(text_vectors, collection) == {"b", "c"}
    text_vectors.store(collection, [replace(vector("b", "soup"), document="other")], model="words")
    text_vectors.drop(collection, text_ids=["other"], texts=[])
    assert ids_of(text_vectors, collection) == set()


def ids_of(text_vectors: TextVectors, collection: str, model: str = "words") -> set[str]:
    return set(text_vectors.stored(collection, ["a", "b", "c", "d"], model=model))


def test_texts_are_forgotten_by_their_ids_and_where_they_are_the_same(
    text_vectors: TextVectors, collection: str
) -> None:
    rows = [
        TextVector("a", content_of("ships", "query"), np.ones(384, np.float32)),
        TextVector("b", content_of("ships", "passage"), np.ones(384, np.float32)),
        TextVector("c", content_of("soup", "passage"), np.ones(384, np.float32)),
        TextVector("d", content_of("salt", "passage"), np.ones(384, np.float32)),
    ]
    other = f"{collection}x"
    for model, into in (("words", collection), ("others", collection), ("words", other)):
        text_vectors.store(into, rows, model=model)
    text_vectors.drop(collection, text_ids=["d"], texts=["ships"])
    assert [ids_of(text_vectors, collection, model) for model in ("words", "others")] == [{"c"}, {"c"}]
    assert ids_of(text_vectors, other) == {"a", "b", "c", "d"}
    text_vectors.drop_all(collection)
    assert [text_vectors.holds(each) for each in (collection, other)] == [False, True]
