"""Entries of the former release: moved when the database is migrated, and taken over while its workers still run."""

import random
from uuid import uuid4

import psycopg
import pytest

from querymill_workers.postgres import migrate as migration
from querymill_workers.postgres.connection import open_pool
from querymill_workers.postgres.migrate import migrate
from querymill_workers.words.memory import MemoryWords
from querymill_workers.words.ports import Words, WordUnit
from querymill_workers.words.postgres import PostgresWords
from tests.fakes.vectors import DIMENSIONS
from tests.fixtures.former_words import write_as_former

SPACE = "messages"
VOCABULARY = ["ship", "soup", "harbour", "crew", "rope", "渲染", "vtkActor"]


def some_units(size: int) -> list[WordUnit]:
    chance = random.Random(size)
    return [
        WordUnit(f"u{number}", " ".join(chance.choices(VOCABULARY, k=chance.randint(0, 9))), chance.choice("ab"))
        for number in range(size)
    ]


def same(one: Words, other: Words, collection: str) -> None:
    for query in (*VOCABULARY, " ".join(VOCABULARY)):
        for groups in (None, ["a"]):
            ours, expected = (
                words.search(collection, SPACE, query, limit=500, groups=groups) for words in (one, other)
            )
            assert ours == expected
            assert [hit.scored.statistics for hit in ours if hit.scored] == [
                hit.scored.statistics for hit in expected if hit.scored
            ]


def test_words_of_a_former_database_are_found_after_the_migration(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    former = [one for one in migration.migrations() if one.number < 13]
    with monkeypatch.context() as patched:
        patched.setattr(migration, "migrations", lambda: former)
        migrate(empty_url, dimensions=DIMENSIONS)
    units, brute = some_units(300), MemoryWords()
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute("SET querymill.across = on")
        write_as_former(connection, "chats", SPACE, units)
        write_as_former(connection, "talks", SPACE, [WordUnit("t", "ship soup", "g")])
        write_as_former(connection, "old", SPACE, [WordUnit("o", "ship")], version=0)
    assert "0013_words.sql" in migrate(empty_url, dimensions=DIMENSIONS)
    brute.put("chats", SPACE, units)
    brute.put("talks", SPACE, [WordUnit("t", "ship soup", "g")])
    with open_pool(empty_url, max_size=4) as pool:
        stored = PostgresWords(pool)
        assert stored.stale("old", SPACE)
        for collection in ("chats", "talks"):
            same(stored, brute, collection)
        for words in (stored, brute):
            words.put("chats", SPACE, [WordUnit(f"u{number}", "ship crew", "b") for number in range(250, 350)])
            words.drop("chats", SPACE, [f"u{number}" for number in range(40)])
        same(stored, brute, "chats")
        while stored.fold("chats", SPACE):
            pass
        same(stored, brute, "chats")


@pytest.mark.parametrize("touch", ["search", "put", "drop", "tidy", "refill"])
def test_what_a_former_worker_writes_meanwhile_is_taken_over(
    database_url: str, database: psycopg.Connection, touch: str
) -> None:
    collection, brute = f"c{uuid4().hex}", MemoryWords()
    with open_pool(database_url, max_size=4) as pool:
        stored = PostgresWords(pool)
        for words in (stored, brute):
            words.put(collection, SPACE, [WordUnit("u1", "rope"), WordUnit("kept", "crew ship")])
        late = [WordUnit("u0", "ship soup", "a"), WordUnit("u1", "ship", "b")]
        write_as_former(database, collection, SPACE, late)
        brute.put(collection, SPACE, late)
        if touch == "put":
            for words in (stored, brute):
                words.put(collection, SPACE, [WordUnit("u1", "newest ship", "a")])
        elif touch == "drop":
            for words in (stored, brute):
                words.drop(collection, SPACE, ["u0"])
        elif touch == "refill":
            stored.refill(collection, SPACE, [WordUnit("u1", "older")])
        elif touch == "tidy":
            stored.tidy()
        same(stored, brute, collection)
    left = database.execute("SELECT count(*) FROM word_spaces WHERE collection = %s", [collection]).fetchone()
    assert left == (0,)


def test_a_collection_that_only_a_former_worker_wrote_to_is_found(
    database_url: str, database: psycopg.Connection
) -> None:
    collection = f"c{uuid4().hex}"
    write_as_former(database, collection, SPACE, [WordUnit("u", "ship")])
    with open_pool(database_url, max_size=4) as pool:
        assert [hit.id for hit in PostgresWords(pool).search(collection, SPACE, "ship", limit=9)] == ["u"]
