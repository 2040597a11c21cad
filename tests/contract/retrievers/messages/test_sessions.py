"""What every store of sessions must do in their life: run on the one in memory and on PostgreSQL."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.messages.ingest import prepare_session
from querymill_workers.retrievers.messages.ports import Messages, Sessions
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter, MessageText
from querymill_workers.retrievers.messages.stores.memory import MemoryMessages
from querymill_workers.retrievers.messages.stores.postgres import PostgresMessages
from querymill_workers.retrievers.messages.stores.postgres_sessions import PostgresSessions
from tests.fakes.vectors import vector_of
from tests.fixtures.chats import messages_in, put, session, store, vectors_of
from tests.fixtures.plans import plans_of, recorded, rows_read


@pytest.fixture(params=["memory", "postgres"])
def messages(request: pytest.FixtureRequest) -> Iterator[Messages]:
    if request.param == "memory":
        yield MemoryMessages()
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool:
        yield messages_in(pool)


@pytest.fixture
def sessions(messages: Messages) -> Sessions:
    if isinstance(messages, MemoryMessages):
        return messages.sessions
    assert isinstance(messages, PostgresMessages)
    return PostgresSessions(messages._pool)


def found(messages: Messages, collection: str, *, model: str) -> list[str]:
    where = MessageFilter(collection, ("message",))
    return [row.content for row in messages.nearest(where, vector_of("ships"), model=model, limit=9, floor=-2).rows]


def contents(texts: Sequence[MessageText]) -> list[str]:
    return sorted(text.content for text in texts)


def test_the_texts_of_a_session_are_its_messages_and_their_contexts(sessions: Sessions, collection: str) -> None:
    changed = put(sessions, collection, prepare_session(session("s", "ships", "soup")))
    assert contents(changed.added) == ["ships", "ships\nsoup", "ships\nsoup", "soup"]
    assert changed.dropped == []
    assert contents(sessions.texts(collection, "s")) == contents(changed.added)


def test_a_change_tells_which_texts_came_and_went(sessions: Sessions, collection: str) -> None:
    texts = {text.content: text.text_id for text in put(
        sessions, collection, prepare_session(session("s", "ships", "soup", "rope", "mast", "oars"))
    ).added}  # fmt: skip
    edited = prepare_session(session("s", "ships", "soup", "rope", "mast", "a weir"))
    changed = put(sessions, collection, edited)
    assert contents(changed.added) == [
        "a weir", "rope\nmast\na weir", "ships\nsoup\nrope\nmast\na weir", "soup\nrope\nmast\na weir",
    ]  # fmt: skip
    assert len(changed.dropped) == 4
    assert texts["oars"] in {text.text_id for text in changed.dropped}
    again = put(sessions, collection, edited)
    assert (again.added, again.dropped) == ([], [])


def test_a_long_text_has_several_passages_and_is_one(messages: Messages, sessions: Sessions, collection: str) -> None:
    ropes = [f"sentence {number} is about ropes." for number in range(400)]
    long = " ".join([*ropes[:200], "The herring is red.", *ropes[200:]])
    (draft,) = store(sessions, collection, session("s", "soup", long, "mast"))
    assert len(draft.passages) > 10
    assert long in contents(sessions.texts(collection, "s"))
    where = MessageFilter(collection, ("message", "context"))
    near = messages.nearest(where, vector_of("The herring is red."), model="words", limit=9, floor=-2)
    assert (len(near.rows), near.passed) == (3, 3)
    first = near.rows[0]
    assert first.passage is not None
    assert "herring" in first.content[first.passage.start : first.passage.end]
    assert (first.message_id, long in first.content) == ("b", True)
    found, count = messages.containing(MessageFilter(collection, ("message",)), "400 is", limit=9)
    assert (found, count) == ([], 0)
    found, count = messages.containing(MessageFilter(collection, ("message",)), "ropes. sentence 7 IS", limit=9)
    assert [row.content for row in found] == [long]
    (row,) = messages.rows(where, [found[0].vector_id], vector_of("The herring is red."), model="words").values()
    assert row.passage is not None
    assert 0 < row.passage.number < row.passage.passages - 1
    shorter = long.replace("The herring is red.", "The herring is blue.")
    changed = put(sessions, collection, prepare_session(session("s", "soup", shorter, "mast")))
    assert shorter in contents(changed.added)
    assert [row.content for row in messages.containing(where, "herring is red", limit=9)[0]] == []


def test_an_edit_leaves_no_row_of_any_model_as_it_was(messages: Messages, sessions: Sessions, collection: str) -> None:
    store(sessions, collection, session("s", "ships"), model="old")
    put(sessions, collection, prepare_session(session("s", "soup")))
    assert found(messages, collection, model="old") == []
    assert messages.containing(MessageFilter(collection, ("message",)), "ships", limit=9) == ([], 0)


def test_a_forgotten_session_is_gone_with_all_its_rows(messages: Messages, sessions: Sessions, collection: str) -> None:
    store(sessions, collection, session("s", "ships"), session("t", "ships"))
    dropped = sessions.drop(collection, "s")
    assert (dropped.was_there, dropped.passages, len(dropped.texts)) == (True, 2, 2)
    assert sessions.whole(collection, ["s", "t"]).keys() == {"t"}
    assert sessions.texts(collection, "s") == []
    assert len(found(messages, collection, model="words")) == 1
    assert not sessions.drop(collection, "s").was_there


def test_many_sessions_are_stored_as_each_alone_would_be(sessions: Sessions, collection: str) -> None:
    put(sessions, collection, prepare_session(session("s", "ships", "soup")))
    edited, new = session("s", "ships", "rope", user_name="ann"), session("t", "mast", name="new")
    changed = sessions.put(collection, [prepare_session(each) for each in (edited, new)])
    assert contents(changed["s"].added) == ["rope", "ships\nrope", "ships\nrope"]
    assert (len(changed["s"].dropped), contents(changed["t"].added)) == (3, ["mast", "mast"])
    assert changed["t"].dropped == []
    assert sessions.whole(collection, ["s", "t"]) == {
        each.session_id: each.model_dump(mode="json", exclude_none=True) for each in (edited, new)
    }


def test_few_rows_of_a_collection_that_grew_fast_are_found_without_reading_the_others(
    database_url: str, collection: str
) -> None:
    """The planner takes a collection that is new since the last ANALYZE for one row, and would read it all."""
    few = prepare_session(session("few", "ships", "soup"))
    many = [prepare_session(session(f"s{number}", *["rope"] * 20)) for number in range(40)]
    with open_pool(database_url, max_size=2) as pool:
        sessions = PostgresSessions(pool)
        vectors = vectors_of(sessions)
        sessions.put(collection, [few, *many])
        sessions.grow(collection, 1_604)
        with recorded() as statements:
            waiting = vectors.pending(collection, model="words", limit=16, documents=["few"])
            vectors.counts(collection, model="words", documents=["few"])
            vectors.fill(collection, {passage: np.zeros(1, np.float32) for passage in waiting}, model="words")
    assert len(waiting) == 4
    for plan in plans_of(database_url, statements):
        assert sum(rows_read(plan).values()) <= 40, plan  # of 1,604
