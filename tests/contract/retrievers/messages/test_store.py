"""What every store of messages must do: run on the one in memory and on PostgreSQL."""

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import numpy as np
import pytest

from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.messages.ingest import prepare_session
from querymill_workers.retrievers.messages.ports import Messages, Sessions
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter, MessageRow
from querymill_workers.retrievers.messages.stores import postgres as postgres_messages
from querymill_workers.retrievers.messages.stores.memory import MemoryMessages
from querymill_workers.retrievers.messages.stores.postgres import PostgresMessages
from querymill_workers.retrievers.messages.stores.postgres_sessions import PostgresSessions
from tests.fakes.vectors import DIMENSIONS, vector_of
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
    """The sessions of the messages, in the same store."""
    if isinstance(messages, MemoryMessages):
        return messages.sessions
    assert isinstance(messages, PostgresMessages)
    return PostgresSessions(messages._pool)


@pytest.fixture
def stored(database_url: str) -> Iterator[PostgresMessages]:
    with open_pool(database_url, max_size=4) as pool:
        yield PostgresMessages(pool, ef_search=100)


@pytest.fixture
def collection() -> str:
    return f"c{uuid4().hex}"


def of(collection: str, **fields: object) -> MessageFilter:
    return replace(MessageFilter(collection, ("message",)), **fields)  # type: ignore[arg-type]


def near(messages: Messages, where: MessageFilter, text: str, *, limit: int = 10) -> list[MessageRow]:
    return list(messages.nearest(where, vector_of(text), model="words", limit=limit, floor=-2).rows)


def skipped(messages: Messages, where: MessageFilter, model: str) -> int:
    return messages.nearest(where, vector_of("ships"), model=model, limit=1, floor=-2).skipped


def ids(rows: list[MessageRow]) -> list[str | None]:
    return [row.message_id for row in rows]


def axis(*values: float) -> np.ndarray:
    return np.array([*values, *[0.0] * (DIMENSIONS - len(values))], np.float32)


def test_the_nearest_row_comes_first_with_all_that_is_known_of_it(
    messages: Messages, sessions: Sessions, collection: str
) -> None:
    store(sessions, collection, session("s", "soup of the day", "nine ships", name="Harbour", user_name="Ada"))
    first, second = near(messages, of(collection), "ships")
    assert (first.message_id, first.message_key, first.session_id, first.content) == ("b", "=b", "s", "nine ships")
    assert (first.session_name, first.user_name, first.message_role) == ("Harbour", "Ada", "user")
    assert first.created_at.isoformat() == "2026-01-01T10:00:01+00:00"
    assert (second.message_id, first.vector_type) == ("a", "message")


def test_equal_vectors_are_1_and_a_zero_vector_is_0(messages: Messages, sessions: Sessions, collection: str) -> None:
    vectors = {"same": axis(3, 4), "zero": axis(), "away": axis(-3, -4)}
    store(sessions, collection, session("s", "same", "zero", "away"), vectors=vectors)
    found = messages.nearest(of(collection), axis(3, 4), model="words", limit=9, floor=-2)
    raws = {row.content: row.raw for row in found.rows}
    assert raws == {"same": pytest.approx(1), "zero": 0, "away": pytest.approx(-1)}
    nothing = messages.nearest(of(collection), axis(), model="words", limit=9, floor=-2)
    assert [row.raw for row in nothing.rows] == [0, 0, 0]


def test_what_passes_the_floor_is_counted_before_the_limit(
    messages: Messages, sessions: Sessions, collection: str
) -> None:
    cosines = (0.9, 0.8, 0.75, 0.6, 0.5, 0.4)
    vectors = {f"m{cosine}": axis(cosine, (1 - cosine**2) ** 0.5) for cosine in cosines}
    store(sessions, collection, session("s", *vectors), vectors=vectors)
    found = messages.nearest(of(collection), axis(1), model="words", limit=2, floor=0.7 - 1e-6)
    assert [row.raw for row in found.rows] == [pytest.approx(0.9), pytest.approx(0.8)]
    assert (found.passed, found.exact) == (3, True)
    assert len(messages.nearest(of(collection), axis(1), model="words", limit=5, floor=-2).rows) == 5


def test_ties_are_in_the_order_of_ids(messages: Messages, sessions: Sessions, collection: str) -> None:
    store(sessions, collection, *[session(f"s{number}", "the same words") for number in range(9)])
    found = [row.vector_id for row in near(messages, of(collection), "the same words", limit=5)]
    assert found == sorted(row.vector_id for row in near(messages, of(collection), "the same words"))[:5]


def test_a_session_sees_only_its_own_rows(messages: Messages, sessions: Sessions, collection: str) -> None:
    store(sessions, collection, session("s", "ships"), session("t", "ships", "soup"))
    found = near(messages, of(collection, session_id="t"), "ships")
    assert {row.session_id for row in found} == {"t"}
    assert ids(found) == ["a", "b"]
    assert near(messages, of(collection, session_id=""), "ships") == []


def test_a_collection_sees_only_its_own_rows(messages: Messages, sessions: Sessions, collection: str) -> None:
    store(sessions, collection, session("s", "ships"))
    (draft,) = store(sessions, f"{collection}x", session("s", "ships", "soup"))
    assert ids(near(messages, of(collection), "ships")) == ["a"]
    hidden = [passage.vector_id for passage in draft.passages if passage.content == "soup"]
    assert messages.rows(of(collection), hidden, None, model="words") == {}
    assert messages.containing(of(collection), "soup", limit=9) == ([], 0)


def test_excluding_a_message_keeps_rows_without_an_id(messages: Messages, sessions: Sessions, collection: str) -> None:
    store(sessions, collection, session("s", "ships", "ships sail", "ships sink", ids=["0", None, "2"]))
    assert set(ids(near(messages, of(collection, exclude_message_id="0"), "ships"))) == {None, "2"}
    assert set(ids(near(messages, of(collection), "ships"))) == {"0", None, "2"}


def test_contexts_are_found_when_asked_for(messages: Messages, sessions: Sessions, collection: str) -> None:
    store(sessions, collection, session("s", "ships", "soup"))
    assert {row.vector_type for row in near(messages, of(collection), "ships")} == {"message"}
    both = near(messages, of(collection, vector_types=("message", "context")), "ships")
    assert sorted(row.vector_type for row in both) == ["context", "context", "message", "message"]
    (context, _) = near(messages, of(collection, vector_types=("context",)), "ships")
    assert context.content == "ships\nsoup"


def test_rows_of_another_model_and_pending_ones_are_skipped_and_counted(
    messages: Messages, sessions: Sessions, collection: str
) -> None:
    store(sessions, collection, session("old", "ships"), model="older")
    store(sessions, collection, session("new", "ships"), model="words")
    sessions.put(collection, prepare_session(session("late", "ships", "ship")), models=["words"])
    assert [row.session_id for row in near(messages, of(collection), "ships")] == ["new"]
    assert skipped(messages, of(collection), "words") == 3
    assert skipped(messages, of(collection, session_id="new"), "words") == 0
    assert skipped(messages, of(collection), "older") == 3
    assert skipped(messages, of(collection), "newest") == 4


def test_excluding_a_message_leaves_out_the_contexts_that_hold_its_text(
    messages: Messages, sessions: Sessions, collection: str
) -> None:
    store(sessions, collection, session("s", *[f"ships {number}" for number in range(7)]))
    where = of(collection, vector_types=("context",), exclude_message_id="d")
    found = near(messages, where, "ships")
    assert sorted(filter(None, ids(found))) == ["a", "g"]
    assert all("ships 3" not in row.content for row in found)
    rows, count = messages.containing(where, "ships", limit=9)
    assert (sorted(filter(None, ids(list(rows)))), count) == (["a", "g"], 2)
    every = [row.vector_id for row in near(messages, of(collection, vector_types=("context",)), "ships")]
    assert len(messages.rows(where, every, None, model="words")) == 2


def test_rows_that_lack_a_vector_are_found_alone_with_their_sessions(
    messages: Messages, sessions: Sessions, collection: str
) -> None:
    store(sessions, collection, session("old", "ships"))
    for name in ("new", "newer"):
        sessions.put(collection, prepare_session(session(name, "ships", "ships")), models=["words"])
    where = of(collection, lacking="words")
    rows, count = messages.containing(where, "ship", limit=9)
    assert ({row.session_id for row in rows}, count) == ({"new", "newer"}, 4)
    assert messages.lacking_sessions(where, limit=9) == ["new", "newer"]
    assert messages.lacking_sessions(where, limit=1) == ["new"]
    assert messages.lacking_sessions(of(collection, lacking="words", session_id="old"), limit=9) == []
    assert messages.lacking_sessions(of(collection, lacking="other"), limit=9) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [("100%", ["b", "a"]), ("a_b", ["c"]), ("back\\slash", ["d"]), ("SHIPS", ["f", "e"]), ("船", ["e"]), ("x", [])],
)
def test_a_text_is_found_as_it_stands_whatever_its_case(
    messages: Messages, sessions: Sessions, collection: str, text: str, expected: list[str]
) -> None:
    store(
        sessions, collection, session("s", "100% so", "or 100%", "a_b", "back\\slash", "Ships 船", "ships", "1000 acb")
    )
    rows, count = messages.containing(of(collection), text, limit=9)
    assert (ids(list(rows)), count) == (expected, len(expected))


def test_named_rows_come_with_their_cosine_under_the_filter(
    messages: Messages, sessions: Sessions, collection: str
) -> None:
    first, second = store(sessions, collection, session("s", "ships"), session("t", "ships"))
    named = [draft.passages[0].vector_id for draft in (first, second)]
    found = messages.rows(of(collection, session_id="t"), named, vector_of("ships"), model="words")
    assert {id_: row.raw for id_, row in found.items()} == {named[1]: pytest.approx(1)}
    (row,) = messages.rows(of(collection, session_id="t"), named, vector_of("ships"), model="other").values()
    assert row.raw is None


def test_an_edited_message_loses_its_vector_and_the_others_keep_theirs(
    messages: Messages, sessions: Sessions, collection: str
) -> None:
    store(sessions, collection, session("s", "ships", "soup", "rope", "sail", "mast"))
    sessions.put(collection, prepare_session(session("s", "ships", "soup", "rope", "sail", "crew")), models=["words"])
    pending = sessions.pending(collection, "s", model="words")
    assert [passage.vector_type for passage in pending] == ["message", "context", "context", "context"]
    contents = {passage.content for passage in pending}
    assert contents == {"crew", "ships\nsoup\nrope\nsail\ncrew", "soup\nrope\nsail\ncrew", "rope\nsail\ncrew"}


def test_what_a_session_has_no_more_is_named_and_goes(messages: Messages, sessions: Sessions, collection: str) -> None:
    store(sessions, collection, session("s", "ships", "soup"))
    shorter = prepare_session(session("s", "ships"))
    kept = [passage.vector_id for passage in shorter.passages]
    leaving = sessions.passages_except(collection, "s", keeping=kept)
    assert sorted(passage.vector_type for passage in leaving) == ["context", "message"]
    sessions.put(collection, shorter, models=["words"])
    assert sessions.passages_except(collection, "s", keeping=kept) == []
    assert ids(near(messages, of(collection), "soup")) == ["a"]


def test_a_revision_is_known_once_it_is_complete_and_not_when_another_is_wanted(
    messages: Messages, sessions: Sessions, collection: str
) -> None:
    (draft,) = store(sessions, collection, session("s", "ships"))
    assert sessions.revision(collection, "s") == draft.revision
    later = prepare_session(session("s", "soup"))
    sessions.put(collection, later, models=["words"])
    assert sessions.revision(collection, "s") is None
    sessions.complete(collection, "s", draft.revision)
    assert sessions.revision(collection, "s") is None


def test_a_vector_of_what_a_message_was_is_not_stored(messages: Messages, sessions: Sessions, collection: str) -> None:
    sessions.put(collection, prepare_session(session("s", "ships")), models=["words"])
    was = sessions.pending(collection, "s", model="words")
    sessions.put(collection, prepare_session(session("s", "soup")), models=["words"])
    sessions.fill(collection, was, np.stack([vector_of("ships")] * len(was)), model="words")
    sessions.mark_indexed(collection, was)
    assert len(sessions.pending(collection, "s", model="words")) == 2
    assert len(sessions.unindexed(collection, "s")) == 2


def test_a_large_filter_is_searched_by_the_index_and_never_gives_fewer_rows_than_there_are(
    stored: PostgresMessages, collection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"ship {number} of {number % 7} rope {number % 5}" for number in range(120)]
    some = [session(f"s{place}", *texts[place : place + 20]) for place in range(0, 120, 20)]
    vectors = {texts[3]: axis()}  # a zero vector is in no index
    store(PostgresSessions(stored._pool), collection, *some, vectors=vectors)
    monkeypatch.setattr(postgres_messages, "EXACT_ROWS", 10)
    question = vector_of("ship 17 of 3 rope 2")
    found = stored.nearest(of(collection), question, model="words", limit=5, floor=-2)
    assert (found.exact, len(found.rows)) == (False, 5)
    monkeypatch.setattr(postgres_messages, "EXACT_ROWS", 10_000)
    whole = PostgresMessages(stored._pool, ef_search=100).nearest(
        of(collection), question, model="words", limit=5, floor=-2
    )
    assert (whole.exact, [row.vector_id for row in whole.rows]) == (True, [row.vector_id for row in found.rows])
    monkeypatch.setattr(postgres_messages, "EXACT_ROWS", 10)
    every = stored.nearest(of(collection), question, model="words", limit=120, floor=-2)
    assert (every.exact, len(every.rows)) == (True, 120)
