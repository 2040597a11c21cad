"""A session's rows and its words are two stores: whoever changes it, and however many at once, they agree."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from uuid import uuid4

import psycopg
import pytest

from querymill_shared.contracts.messages.ingest import IngestSession
from querymill_shared.contracts.messages.life import ForgetSession
from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.messages.stores.postgres import PostgresMessages
from querymill_workers.retrievers.messages.stores.postgres_sessions import PostgresSessions
from querymill_workers.text.words import words
from querymill_workers.words.postgres import PostgresWords
from tests.fixtures.chats import session
from tests.fixtures.words import SlowWords, spelled
from tests.fixtures.world import World, world

__all__ = ["world"]

TEXTS = ("ships at sea", "soup of herons", "rope and mast", "a weir", "the crew sings", "a harbour", "a lamp", "oars")


@pytest.fixture
def stored(world: World, database_url: str) -> Iterator[World]:
    """The world with the stores of PostgreSQL."""
    with open_pool(database_url, max_size=16) as pool:
        world.with_ports(
            messages=PostgresMessages(pool, ef_search=100), sessions=PostgresSessions(pool), words=SlowWords(pool)
        )
        yield world


def expected(world: World, collection: str) -> dict[str, Counter[str]]:
    sessions = world.ports.sessions
    return {
        passage.vector_id: Counter(words(passage.content))
        for session_id in sessions.ids(collection)
        for passage in sessions.passages(collection, session_id)
    }


def at_once(world: World, collection: str) -> None:
    """Ingest five states of one session, and forget it, at once."""
    requests = [
        IngestSession(collection=collection, session=session("s", *TEXTS[number : number + 3 + number % 2]))
        for number in range(5)
    ]
    some = [*requests, ForgetSession(collection=collection, session_id="s")]
    threads = [threading.Thread(target=world.run, args=(request,)) for request in some]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)


def test_several_who_change_a_session_at_once_leave_the_words_of_its_rows(
    stored: World, database: psycopg.Connection
) -> None:
    for _ in range(3):
        collection = f"c{uuid4().hex}"
        at_once(stored, collection)
        assert spelled(database, collection) == expected(stored, collection)


def test_without_one_at_a_time_old_words_would_be_left(
    stored: World, database: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgresSessions, "changing", lambda *_: nullcontext())
    differ = []
    for _ in range(10):
        collection = f"c{uuid4().hex}"
        at_once(stored, collection)
        differ.append(spelled(database, collection) != expected(stored, collection))
    assert any(differ)


def test_more_sessions_at_once_than_connections_still_all_get_in(stored: World, database_url: str) -> None:
    collection = f"c{uuid4().hex}"
    with open_pool(database_url, max_size=8) as pool:
        stored.ports = replace(stored.ports, sessions=PostgresSessions(pool), words=PostgresWords(pool))
        requests = [IngestSession(collection=collection, session=session(f"s{n}", *TEXTS)) for n in range(24)]
        threads = [threading.Thread(target=stored.run, args=(request,)) for request in requests]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert len(stored.ports.sessions.ids(collection)) == 24
