"""Sessions that are stored together are stored as if they had come alone: on the store in memory and on PostgreSQL."""

from collections.abc import Iterator

import psycopg
import pytest

from querymill_shared.contracts.ingest import SessionExtension
from querymill_workers.jobs.faults import Conflict
from querymill_workers.jobs.revisions import Revision
from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.conversations.history import History, add_live
from querymill_workers.retrievers.conversations.ports.sessions import PreparedConversation, Replacement
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.retrievers.conversations.stores.postgres import PostgresConversations
from querymill_workers.retrievers.conversations.stores.postgres_ranks import PostgresRanks
from querymill_workers.retrievers.conversations.write.derived import prepare_history
from tests.fixtures.conversations import Store, draft, memory_store, settle

IDS = ["s0", "s1", "s2", "s3", "s4"]


@pytest.fixture(params=["memory", "postgres"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "memory":
        yield memory_store()
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool:
        yield Store(PostgresConversations(pool), PostgresRanks(pool))


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


def grown(store: Store, collection: str) -> list[Replacement]:
    """The drafts with a live message each, in place of what is stored."""
    known = store.conversations.stored_all(collection, IDS)
    grown_ = []
    for id_ in IDS:
        stored = known.get(id_)
        update = SessionExtension.model_validate(
            {"session_id": id_, "messages": [{"message_id": "live", "text": f"zephyr {id_} quartz lantern harbour"}]}
        )
        history = add_live(History() if stored is None else stored.history, update, (5_000_000, "job"))
        prepared = prepare_history(id_, history, TechnicalKeywords([]))
        assert prepared is not None
        grown_.append(Replacement(prepared, None if stored is None else stored.revision))
    return grown_


def test_sessions_with_live_messages_replaced_together_equal_those_replaced_alone(
    store: Store, collection: str
) -> None:
    alone = f"{collection}-alone"
    for name in (alone, collection):
        for prepared in drafts()[1:]:  # the first is new
            store.put(name, prepared)
    for each in grown(store, alone):
        store.conversations.put(alone, each.prepared, replacing=each.replacing)
    store.conversations.put_all(collection, grown(store, collection))
    for name in (alone, collection):
        settle(store, name)
    found = store.conversations.stored_all(collection, IDS)
    assert found == store.conversations.stored_all(alone, IDS)
    assert all("zephyr" in each.session.messages[-1].text for each in found.values())
    assert store.conversations.references(collection, IDS) == store.conversations.references(alone, IDS)
    assert store.conversations.outlines(collection, IDS) == store.conversations.outlines(alone, IDS)
    stale = [Replacement(each.prepared, Revision("another")) for each in grown(store, collection)]
    with pytest.raises(Conflict):
        store.conversations.put_all(collection, stale)


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
        # Once more, in place of what is there.
        known = conversations.stored_all(collection, IDS)
        conversations.put_all(collection, [Replacement(new, known[new.facts.session_id].revision) for new in drafts()])
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
