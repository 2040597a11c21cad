"""What every store of refused texts must do: run on the one in memory and on PostgreSQL."""

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest

from querymill_shared.meters import Meters
from querymill_workers.postgres.connection import joined, open_pool
from querymill_workers.set_aside.memory import MemorySetAside
from querymill_workers.set_aside.ports import AsideKey, AsideText, SetAside
from querymill_workers.set_aside.postgres import PostgresSetAside


@pytest.fixture(params=["memory", "postgres"])
def aside(request: pytest.FixtureRequest) -> Iterator[SetAside]:
    if request.param == "memory":
        yield MemorySetAside()
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool:
        yield PostgresSetAside(pool, Meters(None))


@pytest.fixture
def collection() -> str:
    return f"c{uuid4().hex}"


def refused(document: str, passage: str = "p", *, model: str = "m", reason: str = "HTTP 400") -> AsideText:
    return AsideText(document, passage, model, reason)


def listed(aside: SetAside, collection: str, kind: str | None = None) -> list[tuple[str, str, str, str, str]]:
    return [(*entry.key, entry.reason) for entry in aside.texts(collection, kind=kind, limit=100)]


def test_texts_are_listed_with_who_refused_them_and_why(aside: SetAside, collection: str) -> None:
    aside.add(collection, "messages", [refused("s2"), refused("s1", "b", reason="too long")])
    aside.add(collection, "files", [refused("a.py")])
    assert listed(aside, collection) == [
        ("files", "a.py", "p", "m", "HTTP 400"),
        ("messages", "s1", "b", "m", "too long"),
        ("messages", "s2", "p", "m", "HTTP 400"),
    ]
    assert listed(aside, collection, "files") == [("files", "a.py", "p", "m", "HTTP 400")]
    assert aside.counts(collection) == {"files": 1, "messages": 2}


def test_a_text_that_is_refused_again_has_the_new_reason_and_is_listed_once(aside: SetAside, collection: str) -> None:
    aside.add(collection, "messages", [refused("s1"), refused("s1", reason="first")])
    aside.add(collection, "messages", [refused("s1", reason="too long")])
    assert listed(aside, collection) == [("messages", "s1", "p", "m", "too long")]


def test_entries_are_dropped_by_document_by_model_or_all(aside: SetAside, collection: str) -> None:
    aside.add(collection, "messages", [refused("s1"), refused("s1", model="n"), refused("s2"), refused("s3")])
    aside.add(collection, "files", [refused("s1")])
    aside.drop(collection, "messages", ["s1", "unknown"], model="n")
    assert aside.counts(collection) == {"files": 1, "messages": 3}
    aside.drop(collection, "messages", ["s1"])
    assert [entry.key for entry in aside.texts(collection, limit=9)] == [
        ("files", "s1", "p", "m"), ("messages", "s2", "p", "m"), ("messages", "s3", "p", "m"),
    ]  # fmt: skip
    aside.drop(collection, "messages", None)
    assert aside.counts(collection) == {"files": 1}


def test_a_list_goes_on_behind_a_key(aside: SetAside, collection: str) -> None:
    aside.add(collection, "messages", [refused("s", f"p{number}") for number in range(5)])
    first = aside.texts(collection, limit=2)
    rest = aside.texts(collection, limit=9, after=first[-1].key)
    assert [entry.key.passage for entry in (*first, *rest)] == ["p0", "p1", "p2", "p3", "p4"]
    assert aside.texts(collection, limit=9, after=AsideKey("messages", "s", "p4", "m")) == []


def test_no_collection_sees_the_texts_of_another(aside: SetAside, collection: str) -> None:
    aside.add(collection, "messages", [refused("s1")])
    other = f"{collection}-other"
    aside.drop(other, "messages", None)
    assert (listed(aside, other), aside.counts(other)) == ([], {})
    assert aside.counts(collection) == {"messages": 1}


def test_an_entry_comes_with_its_transaction_or_not_at_all(database_url: str, collection: str) -> None:
    with open_pool(database_url, max_size=4) as pool:
        aside = PostgresSetAside(pool, Meters(None))

        def add_and_fail() -> None:
            with joined(pool):
                aside.add(collection, "messages", [refused("s1")])
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            add_and_fail()
        assert aside.counts(collection) == {}


def test_row_level_security_alone_keeps_collections_apart(database_url: str, collection: str) -> None:
    with open_pool(database_url, max_size=2) as pool:
        PostgresSetAside(pool, Meters(None)).add(collection, "messages", [refused("s1")])
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "SELECT set_config('querymill.collection', 'another', true), set_config('role', 'querymill_messages', true)"
        )
        assert connection.execute("SELECT count(*) FROM set_aside").fetchone() == (0,)
