"""What every store of sessions must do in their life: run on the one in memory and on PostgreSQL."""

import threading
from collections.abc import Iterator
from importlib import resources
from uuid import uuid4

import numpy as np
import psycopg
import pytest

from querymill_workers.jobs.faults import Unavailable
from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.messages.ingest import prepare_session
from querymill_workers.retrievers.messages.ports import Messages, Sessions
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter
from querymill_workers.retrievers.messages.stores.memory import MemoryMessages
from querymill_workers.retrievers.messages.stores.postgres import PostgresMessages
from querymill_workers.retrievers.messages.stores.postgres_sessions import PostgresSessions
from tests.fakes.vectors import vector_of
from tests.fixtures.chats import session, store


@pytest.fixture(params=["memory", "postgres"])
def messages(request: pytest.FixtureRequest) -> Iterator[Messages]:
    if request.param == "memory":
        yield MemoryMessages()
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool:
        yield PostgresMessages(pool, ef_search=100)


@pytest.fixture
def sessions(messages: Messages) -> Sessions:
    if isinstance(messages, MemoryMessages):
        return messages.sessions
    assert isinstance(messages, PostgresMessages)
    return PostgresSessions(messages._pool)


@pytest.fixture
def collection() -> str:
    return f"c{uuid4().hex}"


def found(messages: Messages, collection: str, *, model: str) -> list[str]:
    where = MessageFilter(collection, ("message",))
    return [row.content for row in messages.nearest(where, vector_of("ships"), model=model, limit=9, floor=-2).rows]


def fill(sessions: Sessions, collection: str, session_id: str, *, model: str, limit: int | None = None) -> None:
    pending = sessions.pending(collection, session_id, model=model)[:limit]
    sessions.fill(collection, pending, np.stack([vector_of(passage.content) for passage in pending]), model=model)


def embed_anew(sessions: Sessions, collection: str, *, model: str) -> None:
    for part in range(3):
        for session_id in sessions.lacking(collection, model=model, part=part, parts=3):
            sessions.add_model(collection, session_id, model=model)
            fill(sessions, collection, session_id, model=model)


def test_a_session_is_to_be_embedded_by_each_of_the_models(sessions: Sessions, collection: str) -> None:
    sessions.put(collection, prepare_session(session("s", "ships", "soup")), models=["new", "old"])
    for model in ("new", "old"):
        assert len(sessions.pending(collection, "s", model=model)) == 4
    assert len(sessions.passages(collection, "s")) == len(sessions.unindexed(collection, "s")) == 4
    sessions.mark_indexed(collection, sessions.unindexed(collection, "s"))
    assert sessions.unindexed(collection, "s") == []


def test_a_model_that_comes_later_finds_the_words_there(sessions: Sessions, collection: str) -> None:
    sessions.put(collection, prepare_session(session("s", "ships")), models=["old"])
    sessions.mark_indexed(collection, sessions.unindexed(collection, "s"))
    sessions.put(collection, prepare_session(session("s", "ships")), models=["new", "old"])
    sessions.add_model(collection, "s", model="newest")
    assert sessions.unindexed(collection, "s") == []
    assert len(sessions.pending(collection, "s", model="newest")) == 2


def test_an_edit_leaves_no_row_of_any_model_as_it_was(messages: Messages, sessions: Sessions, collection: str) -> None:
    store(sessions, collection, session("s", "ships"), model="old")
    sessions.put(collection, prepare_session(session("s", "soup")), models=["new"])
    assert found(messages, collection, model="old") == []
    assert messages.containing(MessageFilter(collection, ("message",)), "ships", limit=9) == ([], 0)


def test_one_embedding_waits_for_a_session_until_it_begins(sessions: Sessions, collection: str) -> None:
    sessions.put(collection, prepare_session(session("s", "ships")), models=["words"])
    asked = [sessions.await_embedding(collection, "s", models=["words"], token=token) for token in ("1", "2")]
    assert asked == ["1", "1"]
    sessions.put(collection, prepare_session(session("s", "ships", "soup")), models=["words"])
    assert sessions.await_embedding(collection, "s", models=["words"], token="3") == "1"
    sessions.begin_embedding(collection, "s")
    assert sessions.await_embedding(collection, "s", models=["words"], token="4") == "4"


def test_none_waits_where_no_vector_is_lacking(sessions: Sessions, collection: str) -> None:
    store(sessions, collection, session("s", "ships"))
    assert sessions.await_embedding(collection, "s", models=["words"], token="1") is None
    assert sessions.await_embedding(collection, "nowhere", models=["words"], token="1") is None
    sessions.begin_embedding(collection, "nowhere")


def test_the_first_model_is_the_one_a_collection_is_searched_by(sessions: Sessions, collection: str) -> None:
    assert sessions.searched_by(collection) is None
    assert sessions.searched_by(collection, first="old") == "old"
    assert sessions.searched_by(collection, first="new") == "old"
    assert sessions.searched_by(f"{collection}x") is None
    assert not sessions.switch(f"{collection}x", model="new")
    assert collection in sessions.collections()
    assert f"{collection}x" not in sessions.collections()


def test_vectors_of_a_new_model_are_made_beside_the_old_and_switched_when_complete(
    messages: Messages, sessions: Sessions, collection: str
) -> None:
    store(sessions, collection, *[session(f"s{number}", "ships", "soup") for number in range(5)], model="old")
    every = [name for part in range(3) for name in sessions.lacking(collection, model="new", part=part, parts=3)]
    assert sorted(every) == [f"s{number}" for number in range(5)]
    sessions.add_model(collection, "s0", model="new")
    fill(sessions, collection, "s0", model="new", limit=3)
    assert not sessions.switch(collection, model="new")
    assert (len(found(messages, collection, model="old")), sessions.searched_by(collection)) == (9, "old")
    embed_anew(sessions, collection, model="new")
    assert sessions.switch(collection, model="new")
    assert sessions.searched_by(collection) == "new"
    sessions.drop_other_models(collection, model="new")
    assert found(messages, collection, model="old") == []
    assert len(found(messages, collection, model="new")) == 9
    assert sessions.switch(collection, model="new")


def test_what_is_pending_by_both_models_does_not_hold_the_switch_up(sessions: Sessions, collection: str) -> None:
    store(sessions, collection, session("s", "ships"), model="old")
    embed_anew(sessions, collection, model="new")
    sessions.put(collection, prepare_session(session("live", "soup")), models=["new", "old"])
    assert sessions.switch(collection, model="new")


def test_what_came_in_by_the_old_model_alone_holds_the_switch_up(sessions: Sessions, collection: str) -> None:
    store(sessions, collection, session("s", "ships"), model="old")
    embed_anew(sessions, collection, model="new")
    store(sessions, collection, session("t", "soup"), model="old")
    assert not sessions.switch(collection, model="new")
    assert sessions.searched_by(collection) == "old"


def test_the_switch_touches_no_other_collection(sessions: Sessions, collection: str) -> None:
    for name in (collection, f"{collection}x"):
        store(sessions, name, session("s", "ships"), model="old")
    embed_anew(sessions, collection, model="new")
    assert sessions.switch(collection, model="new")
    sessions.drop_other_models(collection, model="new")
    assert sessions.searched_by(f"{collection}x") == "old"
    assert len(sessions.passages(f"{collection}x", "s")) == 2
    assert sessions.pending(f"{collection}x", "s", model="new") == []


def test_a_forgotten_session_is_gone_with_all_its_rows(messages: Messages, sessions: Sessions, collection: str) -> None:
    store(sessions, collection, session("s", "ships"), session("t", "ships"))
    sessions.add_model(collection, "s", model="new")
    assert sessions.forget(collection, "s")
    assert (sessions.ids(collection), sessions.revision(collection, "s")) == (["t"], None)
    assert sessions.passages(collection, "s") == []
    assert len(found(messages, collection, model="words")) == 1
    assert not sessions.forget(collection, "s")


def test_a_vector_that_comes_after_its_session_was_forgotten_is_dropped(sessions: Sessions, collection: str) -> None:
    sessions.put(collection, prepare_session(session("s", "ships")), models=["words"])
    pending = sessions.pending(collection, "s", model="words")
    sessions.forget(collection, "s")
    sessions.fill(collection, pending, np.stack([vector_of("ships")] * 2), model="words")
    assert sessions.passages(collection, "s") == []


def test_one_at_a_time_changes_a_session(sessions: Sessions, collection: str) -> None:
    order, begun = [], threading.Event()

    def second() -> None:
        begun.set()
        with sessions.changing(collection, "s"):
            order.append("second")

    other = threading.Thread(target=second)
    with sessions.changing(collection, "s"):
        other.start()
        begun.wait(5)
        with sessions.changing(collection, "another session"):
            order.append("another")
        other.join(0.2)
        order.append("first")
    other.join(5)
    assert order == ["another", "first", "second"]


def test_what_migrated_rows_are_searched_by_and_hold_is_found_out(
    database: psycopg.Connection, collection: str, database_url: str
) -> None:
    with open_pool(database_url, max_size=2) as pool:
        store(PostgresSessions(pool), collection, session("s", "ships", "soup", "rope", "mast"), model="old")
    folder = resources.files("querymill_workers.postgres") / "migrations"
    text = (folder / "0005_message_life.sql").read_text()
    begin, end = text.index("INSERT INTO chat_models"), text.index("ALTER TABLE chat_messages FORCE")
    stored = "SELECT message_id, around FROM chat_message_vectors WHERE collection = %s AND vector_type = 'context'"
    with database.transaction(force_rollback=True):
        for table in ("chat_messages", "chat_message_vectors"):
            database.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
        before = sorted(database.execute(stored, [collection]).fetchall())
        database.execute("DELETE FROM chat_models")
        database.execute("UPDATE chat_message_vectors SET around = NULL WHERE collection = %s", [collection])
        database.execute(text[begin:end])
        assert sorted(database.execute(stored, [collection]).fetchall()) == before
        searched = database.execute("SELECT model FROM chat_models WHERE collection = %s", [collection]).fetchall()
    assert (before[0], searched) == (("a", ["a", "b", "c"]), [("old",)])


def test_a_database_that_is_away_is_unavailable() -> None:
    with open_pool("postgresql://127.0.0.1:1/none", max_size=1, timeout_s=0.3) as pool, pytest.raises(Unavailable):
        PostgresSessions(pool).revision("c", "s")
