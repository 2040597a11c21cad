"""Sessions that are stored together are stored as if they had come alone: on the store in memory and on PostgreSQL."""

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest

from querymill_workers.jobs.faults import Conflict
from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.conversations.ports.sessions import PreparedConversation, Replacement
from querymill_workers.retrievers.conversations.stores.postgres import PostgresConversations
from querymill_workers.retrievers.conversations.stores.postgres_ranks import PostgresRanks
from tests.fixtures.conversations import Store, draft, memory_store, settle

IDS = ["s0", "s1", "s2", "s3", "s4"]


@pytest.fixture(params=["memory", "postgres"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "memory":
        yield memory_store()
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool:
        yield Store(PostgresConversations(pool), PostgresRanks(pool))


@pytest.fixture
def collection() -> str:
    return f"c{uuid4().hex}"


def drafts() -> list[PreparedConversation]:
    """Sessions of which each shares key phrases with the one before."""
    return [draft(id_, "text", day=n, phrases=set(range(n, n + 9))) for n, id_ in enumerate(IDS)]


def test_sessions_stored_together_equal_those_stored_alone(store: Store, collection: str) -> None:
    alone = f"{collection}-alone"
    for prepared in drafts():
        store.put(alone, prepared)
    store.conversations.put_all(collection, [Replacement(prepared, None) for prepared in drafts()])
    for name in (alone, collection):
        settle(store, name)
    assert store.conversations.sessions(collection, IDS) == store.conversations.sessions(alone, IDS)
    assert store.conversations.references(collection, IDS) == store.conversations.references(alone, IDS)
    assert store.conversations.stored_all(collection, [*IDS, "none"]).keys() == set(IDS)


def test_a_stored_session_among_new_ones_is_replaced(store: Store, collection: str) -> None:
    store.put(collection, draft("s1", "before", phrases={90, 91, 92}))
    known = store.conversations.stored_all(collection, IDS)
    replaced = {id_: stored.revision for id_, stored in known.items()}
    generation = store.conversations.generation(collection)
    store.conversations.put_all(
        collection, [Replacement(prepared, replaced.get(prepared.facts.session_id)) for prepared in drafts()]
    )
    found = store.conversations.sessions(collection, IDS)
    assert [found[id_].messages[0].text for id_ in IDS] == ["text"] * len(IDS)
    assert store.conversations.generation(collection) > generation


def test_a_session_that_another_writer_stored_meanwhile_is_a_conflict(store: Store, collection: str) -> None:
    store.put(collection, draft("s1", "before"))
    with pytest.raises(Conflict):
        store.conversations.put_all(collection, [Replacement(prepared, None) for prepared in drafts()])


def test_postings_of_sessions_stored_together_are_whole(
    database: psycopg.Connection, database_url: str, collection: str
) -> None:
    with open_pool(database_url, max_size=2) as pool:
        conversations = PostgresConversations(pool)
        conversations.put_all(collection, [Replacement(prepared, None) for prepared in drafts()])
        store = Store(conversations, PostgresRanks(pool))
        for prepared in drafts():
            store.put(f"{collection}x", prepared)
    statement = (
        "SELECT c.session_id, p.phrase, p.size, p.explicit FROM conversation_phrases AS p"
        " JOIN conversations AS c ON c.collection = p.collection AND c.number = p.session"
        " WHERE p.collection = %s ORDER BY 1, 2"
    )
    found = []
    for name in (collection, f"{collection}x"):
        with database.transaction():
            database.execute("SELECT set_config('querymill.collection', %s, true)", [name])
            found.append(database.execute(statement, [name]).fetchall())
    assert found[0] == found[1]
    assert len(found[0]) == 9 * len(IDS)
