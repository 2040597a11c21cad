"""What every store of sessions must do in their life: run on the one in memory and on PostgreSQL."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from querymill_workers.jobs.faults import Unavailable
from querymill_workers.postgres.connection import open_pool, within
from querymill_workers.retrievers.messages.ingest import prepare_session
from querymill_workers.retrievers.messages.ports import Messages, Sessions
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter, MessageText, PendingPassage
from querymill_workers.retrievers.messages.stores.memory import MemoryMessages
from querymill_workers.retrievers.messages.stores.postgres import PostgresMessages
from querymill_workers.retrievers.messages.stores.postgres_sessions import _SQL, PostgresSessions, _pending_columns
from tests.fakes.vectors import vector_of
from tests.fixtures.chats import put, session, store


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
    pending = sessions.pending(collection, [session_id], model=model, limit=100 if limit is None else limit)
    sessions.fill(collection, pending, np.stack([vector_of(passage.content) for passage in pending]), model=model)


def embed_anew(sessions: Sessions, collection: str, *, model: str) -> None:
    for part in range(3):
        for session_id in sessions.lacking(collection, model=model, part=part, parts=3):
            sessions.add_model(collection, session_id, model=model)
            fill(sessions, collection, session_id, model=model)


def waiting(sessions: Sessions, collection: str, session_id: str, *, model: str) -> list[PendingPassage]:
    return list(sessions.pending(collection, [session_id], model=model, limit=1_000))


def contents(texts: Sequence[MessageText]) -> list[str]:
    return sorted(text.content for text in texts)


def test_a_session_is_to_be_embedded_by_each_of_the_models(sessions: Sessions, collection: str) -> None:
    changed = put(sessions, collection, prepare_session(session("s", "ships", "soup")), models=["new", "old"])
    for model in ("new", "old"):
        assert len(waiting(sessions, collection, "s", model=model)) == 4
        assert sessions.count_pending(collection, ["s"], model=model) == 4
    assert contents(changed.added) == ["ships", "ships\nsoup", "ships\nsoup", "soup"]
    assert changed.dropped == []
    assert contents(sessions.texts(collection, "s")) == contents(changed.added)


def test_a_change_tells_which_texts_came_and_went(sessions: Sessions, collection: str) -> None:
    texts = {text.content: text.text_id for text in put(
        sessions, collection, prepare_session(session("s", "ships", "soup", "rope", "mast", "oars")), models=["words"]
    ).added}  # fmt: skip
    edited = prepare_session(session("s", "ships", "soup", "rope", "mast", "a weir"))
    changed = put(sessions, collection, edited, models=["words"])
    assert contents(changed.added) == [
        "a weir", "rope\nmast\na weir", "ships\nsoup\nrope\nmast\na weir", "soup\nrope\nmast\na weir",
    ]  # fmt: skip
    assert len(changed.dropped) == 4
    assert texts["oars"] in {text.text_id for text in changed.dropped}
    again = put(sessions, collection, edited, models=["words"])
    assert (again.added, again.dropped) == ([], [])


def test_a_model_that_comes_later_changes_no_text(sessions: Sessions, collection: str) -> None:
    put(sessions, collection, prepare_session(session("s", "ships")), models=["old"])
    changed = put(sessions, collection, prepare_session(session("s", "ships")), models=["new", "old"])
    assert changed.added == []
    sessions.add_model(collection, "s", model="newest")
    assert len(waiting(sessions, collection, "s", model="newest")) == 2


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
    changed = put(sessions, collection, prepare_session(session("s", "soup", shorter, "mast")), models=["words"])
    assert shorter in contents(changed.added)
    assert [row.content for row in messages.containing(where, "herring is red", limit=9)[0]] == []


def test_what_a_provider_refused_waits_no_more_until_it_is_tried_again(
    messages: Messages, sessions: Sessions, collection: str
) -> None:
    sessions.searched_by(collection, first="words")
    put(sessions, collection, prepare_session(session("s", "ships", "soup")), models=["words"])
    refused = waiting(sessions, collection, "s", model="words")[:1]
    assert sessions.refuse(collection, refused, model="words") == [refused[0].vector_id]
    assert sessions.refuse(collection, [PendingPassage("gone", "message", "x", "s")], model="words") == []
    assert refused[0] not in waiting(sessions, collection, "s", model="words")
    fill(sessions, collection, "s", model="words")
    assert sessions.await_embedding(collection, {"s": "1"}, models=["words"]) == {}
    near = messages.nearest(MessageFilter(collection, ("message",)), vector_of("x"), model="words", limit=9, floor=-2)
    assert (len(near.rows), near.skipped, near.pending) == (1, 1, 0)
    sessions.add_model(collection, "s", model="words")
    assert waiting(sessions, collection, "s", model="words") == refused


def test_a_refused_passage_does_not_hold_the_switch_up(sessions: Sessions, collection: str) -> None:
    store(sessions, collection, session("s", "ships"), model="old")
    sessions.add_model(collection, "s", model="new")
    refused = waiting(sessions, collection, "s", model="new")[:1]
    sessions.refuse(collection, refused, model="new")
    assert not sessions.switch(collection, model="new")
    fill(sessions, collection, "s", model="new")
    assert sessions.switch(collection, model="new")


def test_an_edit_leaves_no_row_of_any_model_as_it_was(messages: Messages, sessions: Sessions, collection: str) -> None:
    store(sessions, collection, session("s", "ships"), model="old")
    put(sessions, collection, prepare_session(session("s", "soup")), models=["new"])
    assert found(messages, collection, model="old") == []
    assert messages.containing(MessageFilter(collection, ("message",)), "ships", limit=9) == ([], 0)


def test_one_embedding_waits_for_a_session_until_it_begins(sessions: Sessions, collection: str) -> None:
    put(sessions, collection, prepare_session(session("s", "ships")), models=["words"])
    asked = [sessions.await_embedding(collection, {"s": token}, models=["words"])["s"] for token in ("1", "2")]
    assert asked == ["1", "1"]
    put(sessions, collection, prepare_session(session("s", "ships", "soup")), models=["words"])
    assert sessions.await_embedding(collection, {"s": "3"}, models=["words"]) == {"s": "1"}
    sessions.begin_embedding(collection, ["s"])
    assert sessions.await_embedding(collection, {"s": "4"}, models=["words"]) == {"s": "4"}


def test_none_waits_where_no_vector_is_lacking(sessions: Sessions, collection: str) -> None:
    store(sessions, collection, session("s", "ships"))
    assert sessions.await_embedding(collection, {"s": "1"}, models=["words"]) == {}
    assert sessions.await_embedding(collection, {"nowhere": "1"}, models=["words"]) == {}
    sessions.begin_embedding(collection, ["nowhere"])


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
    put(sessions, collection, prepare_session(session("live", "soup")), models=["new", "old"])
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
    assert len(sessions.texts(f"{collection}x", "s")) == 2
    assert waiting(sessions, f"{collection}x", "s", model="new") == []


def test_a_forgotten_session_is_gone_with_all_its_rows(messages: Messages, sessions: Sessions, collection: str) -> None:
    store(sessions, collection, session("s", "ships"), session("t", "ships"))
    sessions.add_model(collection, "s", model="new")
    dropped = sessions.forget(collection, "s")
    assert (dropped.was_there, dropped.passages, len(dropped.texts)) == (True, 2, 2)
    assert (sessions.ids(collection), sessions.revisions(collection, ["s"])) == (["t"], {})
    assert sessions.texts(collection, "s") == []
    assert len(found(messages, collection, model="words")) == 1
    assert not sessions.forget(collection, "s").was_there


def test_a_vector_that_comes_after_its_session_was_forgotten_is_dropped(sessions: Sessions, collection: str) -> None:
    put(sessions, collection, prepare_session(session("s", "ships")), models=["words"])
    pending = waiting(sessions, collection, "s", model="words")
    sessions.forget(collection, "s")
    sessions.fill(collection, pending, np.stack([vector_of("ships")] * 2), model="words")
    assert sessions.texts(collection, "s") == []


def test_many_sessions_are_stored_as_each_alone_would_be(sessions: Sessions, collection: str) -> None:
    put(sessions, collection, prepare_session(session("s", "ships", "soup")), models=["words"])
    edited, new = session("s", "ships", "rope", user_name="ann"), session("t", "mast", name="new")
    changed = sessions.put(collection, [prepare_session(each) for each in (edited, new)], models=["words"])
    assert contents(changed["s"].added) == ["rope", "ships\nrope", "ships\nrope"]
    assert (len(changed["s"].dropped), contents(changed["t"].added)) == (3, ["mast", "mast"])
    assert changed["t"].dropped == []
    assert sessions.whole(collection, ["s", "t"]) == {
        each.session_id: each.model_dump(mode="json", exclude_none=True) for each in (edited, new)
    }
    assert sessions.revisions(collection, ["s", "t", "u"]) == {
        each.session_id: prepare_session(each).revision for each in (edited, new)
    }


def test_what_waits_in_many_sessions_is_listed_and_embedded_together(sessions: Sessions, collection: str) -> None:
    for name in ("s", "t", "u"):
        put(sessions, collection, prepare_session(session(name, "ships")), models=["words"])
    assert sessions.await_embedding(collection, {"s": "1"}, models=["words"]) == {"s": "1"}
    asked = {"s": "2", "t": "3", "nowhere": "4"}
    assert sessions.await_embedding(collection, asked, models=["words"]) == {"s": "1", "t": "3"}
    assert sessions.count_pending(collection, ["s", "t", "nowhere"], model="words") == 4
    pending = sessions.pending(collection, ["s", "t"], model="words", limit=9)
    assert sorted((passage.session_id, passage.vector_type) for passage in pending) == [
        ("s", "context"), ("s", "message"), ("t", "context"), ("t", "message"),
    ]  # fmt: skip
    sessions.begin_embedding(collection, ["s", "t"])
    sessions.fill(collection, pending, np.stack([vector_of("ships")] * 4), model="words")
    assert sessions.count_pending(collection, ["s", "t", "u"], model="words") == 2
    assert sessions.await_embedding(collection, {"s": "5", "u": "6"}, models=["words"]) == {"u": "6"}


def test_few_rows_of_a_collection_that_grew_fast_are_found_without_reading_the_others(
    database_url: str, collection: str
) -> None:
    """The planner takes a collection that is new since the last ANALYZE for one row, and would read it all."""
    few = prepare_session(session("few", "ships", "soup"))
    many = [prepare_session(session(f"s{number}", *["rope"] * 20)) for number in range(40)]
    with open_pool(database_url, max_size=2) as pool:
        sessions = PostgresSessions(pool)
        sessions.put(collection, [few, *many], models=["words"])
        sessions.grow(collection, 1_604)
        pending = sessions.pending(collection, ["few"], model="words", limit=16)
        filling = _pending_columns(collection, pending) | {"model": "words", "embeddings": ["[0]"] * len(pending)}
        reading = {"collection": collection, "session_ids": ["few"], "model": "words", "limit": 16}
        with within(pool, collection) as connection:
            for name, values in (("pending", reading), ("pending_count", reading), ("fill", filling)):
                row = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {_SQL[name]}", values).fetchone()
                assert row is not None
                assert rows_read(row[0][0]["Plan"]) <= 40, name  # of 1,604
    assert len(pending) == 4


def rows_read(plan: Mapping[str, Any]) -> int:
    """Count the rows of tables that a plan has read, those that it has thrown away too."""
    below: int = sum(map(rows_read, plan.get("Plans", ())))
    if "Relation Name" not in plan or plan["Node Type"] == "ModifyTable":
        return below
    own: int = round(plan["Actual Loops"] * (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)))
    return below + own


def test_a_database_that_is_away_is_unavailable() -> None:
    with open_pool("postgresql://127.0.0.1:1/none", max_size=1, timeout_s=0.3) as pool, pytest.raises(Unavailable):
        PostgresSessions(pool).revisions("c", ["s"])
