"""What every store of messages must do: run on the one in memory and on PostgreSQL."""

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import numpy as np
import pytest

from querymill_workers.domain.sessions import MessageFilter, MessageRow
from querymill_workers.flows.ingest_messages import drafted
from querymill_workers.ports import Messages, Unavailable
from querymill_workers.stores.memory_messages import MemoryMessages
from querymill_workers.stores.postgres import messages as postgres_messages
from querymill_workers.stores.postgres.connection import open_pool
from querymill_workers.stores.postgres.messages import PostgresMessages
from tests.fakes.vectors import DIMENSIONS, vector_of
from tests.fixtures.chats import session, store


@pytest.fixture(params=["memory", "postgres"])
def messages(request: pytest.FixtureRequest) -> Iterator[Messages]:
    if request.param == "memory":
        yield MemoryMessages()
        return
    with open_pool(request.getfixturevalue("database_url"), most=4) as pool:
        yield PostgresMessages(pool)


@pytest.fixture
def stored(database_url: str) -> Iterator[PostgresMessages]:
    with open_pool(database_url, most=4) as pool:
        yield PostgresMessages(pool)


@pytest.fixture
def collection() -> str:
    return f"c{uuid4().hex}"


def of(collection: str, **fields: object) -> MessageFilter:
    return replace(MessageFilter(collection, ("message",)), **fields)  # type: ignore[arg-type]


def near(messages: Messages, where: MessageFilter, text: str, *, most: int = 10) -> list[MessageRow]:
    return list(messages.nearest(where, vector_of(text), model="words", most=most, floor=-2).rows)


def skipped(messages: Messages, where: MessageFilter, model: str) -> int:
    return messages.nearest(where, vector_of("ships"), model=model, most=1, floor=-2).skipped


def ids(rows: list[MessageRow]) -> list[str | None]:
    return [row.message_id for row in rows]


def axis(*values: float) -> np.ndarray:
    return np.array([*values, *[0.0] * (DIMENSIONS - len(values))], np.float32)


def test_the_nearest_row_comes_first_with_all_that_is_known_of_it(messages: Messages, collection: str) -> None:
    store(messages, collection, session("s", "soup of the day", "nine ships", name="Harbour", user_name="Ada"))
    first, second = near(messages, of(collection), "ships")
    assert (first.message_id, first.message_key, first.session_id, first.content) == ("b", "=b", "s", "nine ships")
    assert (first.session_name, first.user_name, first.message_role) == ("Harbour", "Ada", "user")
    assert first.created_at.isoformat() == "2026-01-01T10:01:00+00:00"
    assert (second.message_id, first.vector_type) == ("a", "message")


def test_equal_vectors_are_1_and_a_zero_vector_is_0(messages: Messages, collection: str) -> None:
    vectors = {"same": axis(3, 4), "zero": axis(), "away": axis(-3, -4)}
    store(messages, collection, session("s", "same", "zero", "away"), vectors=vectors)
    found = messages.nearest(of(collection), axis(3, 4), model="words", most=9, floor=-2)
    raws = {row.content: row.raw for row in found.rows}
    assert raws == {"same": pytest.approx(1), "zero": 0, "away": pytest.approx(-1)}
    nothing = messages.nearest(of(collection), axis(), model="words", most=9, floor=-2)
    assert [row.raw for row in nothing.rows] == [0, 0, 0]


def test_what_passes_the_floor_is_counted_before_the_limit(messages: Messages, collection: str) -> None:
    cosines = (0.9, 0.8, 0.75, 0.6, 0.5, 0.4)
    vectors = {f"m{cosine}": axis(cosine, (1 - cosine**2) ** 0.5) for cosine in cosines}
    store(messages, collection, session("s", *vectors), vectors=vectors)
    found = messages.nearest(of(collection), axis(1), model="words", most=2, floor=0.7 - 1e-6)
    assert [row.raw for row in found.rows] == [pytest.approx(0.9), pytest.approx(0.8)]
    assert (found.passed, found.exact) == (3, True)
    assert len(messages.nearest(of(collection), axis(1), model="words", most=5, floor=-2).rows) == 5


def test_ties_are_in_the_order_of_ids(messages: Messages, collection: str) -> None:
    store(messages, collection, *[session(f"s{number}", "the same words") for number in range(9)])
    found = [row.vector_id for row in near(messages, of(collection), "the same words", most=5)]
    assert found == sorted(row.vector_id for row in near(messages, of(collection), "the same words"))[:5]


def test_a_session_sees_only_its_own_rows(messages: Messages, collection: str) -> None:
    store(messages, collection, session("s", "ships"), session("t", "ships", "soup"))
    found = near(messages, of(collection, session_id="t"), "ships")
    assert {row.session_id for row in found} == {"t"}
    assert ids(found) == ["a", "b"]
    assert near(messages, of(collection, session_id=""), "ships") == []


def test_a_collection_sees_only_its_own_rows(messages: Messages, collection: str) -> None:
    store(messages, collection, session("s", "ships"))
    (draft,) = store(messages, f"{collection}x", session("s", "ships", "soup"))
    assert ids(near(messages, of(collection), "ships")) == ["a"]
    hidden = [passage.vector_id for passage in draft.passages if passage.content == "soup"]
    assert messages.rows(of(collection), hidden, None, model="words") == {}
    assert messages.containing(of(collection), "soup", most=9) == ([], 0)


def test_excluding_a_message_keeps_rows_without_an_id(messages: Messages, collection: str) -> None:
    store(messages, collection, session("s", "ships", "ships sail", "ships sink", ids=["0", None, "2"]))
    assert set(ids(near(messages, of(collection, exclude_message_id="0"), "ships"))) == {None, "2"}
    assert set(ids(near(messages, of(collection), "ships"))) == {"0", None, "2"}


def test_contexts_are_found_when_asked_for(messages: Messages, collection: str) -> None:
    store(messages, collection, session("s", "ships", "soup"))
    assert {row.vector_type for row in near(messages, of(collection), "ships")} == {"message"}
    both = near(messages, of(collection, vector_types=("message", "context")), "ships")
    assert sorted(row.vector_type for row in both) == ["context", "context", "message", "message"]
    (context, _) = near(messages, of(collection, vector_types=("context",)), "ships")
    assert context.content == "ships\nsoup"


def test_rows_of_another_model_and_pending_ones_are_skipped_and_counted(messages: Messages, collection: str) -> None:
    store(messages, collection, session("old", "ships"), model="older")
    store(messages, collection, session("new", "ships"), model="words")
    messages.put(collection, drafted(session("late", "ships", "ship"), "words"), model="words")
    assert [row.session_id for row in near(messages, of(collection), "ships")] == ["new"]
    assert skipped(messages, of(collection), "words") == 3
    assert skipped(messages, of(collection, session_id="new"), "words") == 0
    assert skipped(messages, of(collection), "older") == 3
    assert skipped(messages, of(collection), "newest") == 4


def test_another_models_rows_stay_until_the_new_ones_are_complete(messages: Messages, collection: str) -> None:
    store(messages, collection, session("s", "ships", "soup"), model="older")
    draft = drafted(session("s", "ships", "soup"), "words")
    messages.put(collection, draft, model="words")
    pending = messages.pending(collection, "s", model="words")
    messages.fill(collection, pending[:1], np.stack([vector_of("ships")]), model="words")
    found = messages.nearest(of(collection), vector_of("ships"), model="older", most=9, floor=-2)
    assert len(found.rows) == 2
    assert skipped(messages, of(collection), "words") == 1
    messages.complete(collection, "s", draft.revision, model="words")
    assert messages.nearest(of(collection), vector_of("ships"), model="older", most=9, floor=-2).rows == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [("100%", ["b", "a"]), ("a_b", ["c"]), ("back\\slash", ["d"]), ("SHIPS", ["f", "e"]), ("船", ["e"]), ("x", [])],
)
def test_a_text_is_found_as_it_stands_whatever_its_case(
    messages: Messages, collection: str, text: str, expected: list[str]
) -> None:
    store(
        messages, collection, session("s", "100% so", "or 100%", "a_b", "back\\slash", "Ships 船", "ships", "1000 acb")
    )
    rows, count = messages.containing(of(collection), text, most=9)
    assert (ids(list(rows)), count) == (expected, len(expected))


def test_named_rows_come_with_their_cosine_under_the_filter(messages: Messages, collection: str) -> None:
    first, second = store(messages, collection, session("s", "ships"), session("t", "ships"))
    named = [draft.passages[0].vector_id for draft in (first, second)]
    found = messages.rows(of(collection, session_id="t"), named, vector_of("ships"), model="words")
    assert {id_: row.raw for id_, row in found.items()} == {named[1]: pytest.approx(1)}
    (row,) = messages.rows(of(collection, session_id="t"), named, vector_of("ships"), model="other").values()
    assert row.raw is None


def test_an_edited_message_loses_its_vector_and_the_others_keep_theirs(messages: Messages, collection: str) -> None:
    store(messages, collection, session("s", "ships", "soup", "rope", "sail", "mast"))
    messages.put(collection, drafted(session("s", "ships", "soup", "rope", "sail", "crew"), "words"), model="words")
    pending = messages.pending(collection, "s", model="words")
    assert [one.vector_type for one in pending] == ["message", "context", "context", "context"]
    contents = {one.content for one in pending}
    assert contents == {"crew", "ships\nsoup\nrope\nsail\ncrew", "soup\nrope\nsail\ncrew", "rope\nsail\ncrew"}


def test_what_a_session_has_no_more_is_named_and_goes(messages: Messages, collection: str) -> None:
    store(messages, collection, session("s", "ships", "soup"))
    shorter = drafted(session("s", "ships"), "words")
    leaving = messages.leaving(collection, shorter)
    assert sorted(one.vector_type for one in leaving) == ["context", "message"]
    messages.put(collection, shorter, model="words")
    assert messages.leaving(collection, shorter) == []
    assert ids(near(messages, of(collection), "soup")) == ["a"]


def test_a_revision_is_known_once_it_is_complete_and_not_when_another_is_wanted(
    messages: Messages, collection: str
) -> None:
    (draft,) = store(messages, collection, session("s", "ships"))
    assert messages.revision(collection, "s") == draft.revision
    later = drafted(session("s", "soup"), "words")
    messages.put(collection, later, model="words")
    assert messages.revision(collection, "s") is None
    messages.complete(collection, "s", draft.revision, model="words")
    assert messages.revision(collection, "s") is None


def test_a_vector_of_what_a_message_was_is_not_stored(messages: Messages, collection: str) -> None:
    messages.put(collection, drafted(session("s", "ships"), "words"), model="words")
    was = messages.pending(collection, "s", model="words")
    messages.put(collection, drafted(session("s", "soup"), "words"), model="words")
    messages.fill(collection, was, np.stack([vector_of("ships")] * len(was)), model="words")
    messages.mark_indexed(collection, was, model="words")
    assert len(messages.pending(collection, "s", model="words")) == 2
    assert len(messages.unindexed(collection, "s", model="words")) == 2


def test_a_large_filter_is_searched_by_the_index_and_never_gives_fewer_rows_than_there_are(
    stored: PostgresMessages, collection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"ship {number} of {number % 7} rope {number % 5}" for number in range(120)]
    some = [session(f"s{place}", *texts[place : place + 20]) for place in range(0, 120, 20)]
    vectors = {texts[3]: axis()}  # a zero vector is in no index
    store(stored, collection, *some, vectors=vectors)
    monkeypatch.setattr(postgres_messages, "EXACT_ROWS", 10)
    question = vector_of("ship 17 of 3 rope 2")
    found = stored.nearest(of(collection), question, model="words", most=5, floor=-2)
    assert (found.exact, len(found.rows)) == (False, 5)
    monkeypatch.setattr(postgres_messages, "EXACT_ROWS", 10_000)
    whole = PostgresMessages(stored._pool).nearest(of(collection), question, model="words", most=5, floor=-2)
    assert (whole.exact, [row.vector_id for row in whole.rows]) == (True, [row.vector_id for row in found.rows])
    monkeypatch.setattr(postgres_messages, "EXACT_ROWS", 10)
    every = stored.nearest(of(collection), question, model="words", most=120, floor=-2)
    assert (every.exact, len(every.rows)) == (True, 120)


def test_a_database_that_is_away_is_unavailable() -> None:
    with open_pool("postgresql://127.0.0.1:1/none", most=1, timeout_s=0.3) as pool, pytest.raises(Unavailable):
        PostgresMessages(pool).revision("c", "s")
