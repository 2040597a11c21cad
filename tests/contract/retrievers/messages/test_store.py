"""What every store of messages must do: run on the one in memory and on PostgreSQL."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.postgres import metadata_index
from querymill_workers.postgres import vector_index as near_indexes
from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.messages.ingest import prepare_session
from querymill_workers.retrievers.messages.ports import Messages, Sessions
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter, MessageRow
from querymill_workers.retrievers.messages.stores import postgres as postgres_messages
from querymill_workers.retrievers.messages.stores.memory import MemoryMessages
from querymill_workers.retrievers.messages.stores.postgres import PostgresMessages
from querymill_workers.retrievers.messages.stores.postgres_sessions import PostgresSessions
from querymill_workers.words.postgres import PostgresWords
from tests.fakes.vectors import DIMENSIONS, vector_of
from tests.fixtures.chats import messages_in, put, session, store, vectors_of


@pytest.fixture(params=["memory", "postgres"])
def messages(request: pytest.FixtureRequest) -> Iterator[Messages]:
    if request.param == "memory":
        yield MemoryMessages()
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool:
        yield messages_in(pool)


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
        yield messages_in(pool)


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
    assert len(both) == 2
    assert {row.vector_type for row in both} == {"message", "context"}  # each message once, by its nearest row
    (context, _) = near(messages, of(collection, vector_types=("context",)), "ships")
    assert context.content == "ships\nsoup"


def test_rows_of_another_model_and_pending_ones_are_skipped_and_counted(
    messages: Messages, sessions: Sessions, collection: str
) -> None:
    store(sessions, collection, session("old", "ships"), model="older")
    store(sessions, collection, session("new", "ships"), model="words")
    put(sessions, collection, prepare_session(session("late", "ships", "ship")))
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
        put(sessions, collection, prepare_session(session(name, "ships", "ships")))
    where = of(collection, lacking="words")
    rows, count = messages.containing(where, "ship", limit=9)
    assert ({row.session_id for row in rows}, count) == ({"new", "newer"}, 4)
    assert sorted(messages.sessions_of(where, limit=9)) == ["new", "newer"]
    assert len(messages.sessions_of(where, limit=1)) == 1
    assert messages.sessions_of(of(collection, lacking="words", session_id="old"), limit=9) == []
    assert len(messages.sessions_of(of(collection, lacking="other"), limit=9)) == 3


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


def test_named_rows_have_no_cosine_where_no_vector_is_given(
    messages: Messages, sessions: Sessions, collection: str
) -> None:
    (draft,) = store(sessions, collection, session("s", "ships"))
    (row,) = messages.rows(of(collection), [draft.passages[0].vector_id], None, model="words").values()
    assert row.raw is None


def test_brief_rows_are_ranked_as_whole_ones_are(messages: Messages, sessions: Sessions, collection: str) -> None:
    store(sessions, collection, session("s", "nine ships", "hot soup", "nine soups"), session("t", "ships"))
    where, vector = of(collection), vector_of("nine ships")
    found = {
        brief: messages.nearest(where, vector, model="words", limit=3, floor=0.1, brief=brief)
        for brief in (False, True)
    }
    told = {brief: [(row.vector_id, row.message, row.raw) for row in near.rows] for brief, near in found.items()}
    assert told[True] == told[False]
    assert (found[True].passed, found[True].skipped) == (found[False].passed, found[False].skipped)
    named = [row.vector_id for row in found[False].rows]
    whole = messages.rows(where, named, vector, model="words")
    brief = messages.rows(where, named, vector, model="words", brief=True)
    assert {id_: (row.message, row.created_at, row.raw) for id_, row in brief.items()} == {
        id_: (row.message, row.created_at, row.raw) for id_, row in whole.items()
    }


def test_an_edited_message_loses_its_vector_and_the_others_keep_theirs(
    messages: Messages, sessions: Sessions, collection: str
) -> None:
    store(sessions, collection, session("s", "ships", "soup", "rope", "sail", "mast"))
    put(sessions, collection, prepare_session(session("s", "ships", "soup", "rope", "sail", "crew")))
    first, *others = vectors_of(sessions).pending(collection, model="words", limit=99)
    assert first.text == "crew"  # a message before its contexts
    assert {passage.text for passage in others} == {
        "ships\nsoup\nrope\nsail\ncrew", "soup\nrope\nsail\ncrew", "rope\nsail\ncrew",
    }  # fmt: skip


def test_what_a_session_has_no_more_is_named_and_goes(messages: Messages, sessions: Sessions, collection: str) -> None:
    store(sessions, collection, session("s", "ships", "soup"))
    changed = put(sessions, collection, prepare_session(session("s", "ships")))
    assert sorted(text.vector_type for text in changed.dropped) == ["context", "context", "message"]
    assert ids(near(messages, of(collection), "soup")) == ["a"]
    assert len(sessions.texts(collection, "s")) == 2


def test_a_large_filter_is_searched_by_the_index_and_never_gives_fewer_rows_than_there_are(
    stored: PostgresMessages, collection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"ship {number} of {number % 7} rope {number % 5}" for number in range(120)]
    some = [session(f"s{place}", *texts[place : place + 20]) for place in range(0, 120, 20)]
    vectors = {texts[3]: axis()}  # a zero vector is in no index
    store(PostgresSessions(stored._pool), collection, *some, vectors=vectors)
    monkeypatch.setattr(postgres_messages, "EXACT_ROWS", 10)
    monkeypatch.setattr(near_indexes, "LARGE_ROWS", 10)
    assert stored._near.make(collection, "words", dimensions=DIMENSIONS)
    assert not stored._near.make(collection, "words", dimensions=DIMENSIONS)
    with stored._pool.connection() as connection:
        name = [stored._near.name(collection, "words")]
        sampled = "SELECT attstattarget FROM pg_attribute WHERE attrelid = %s::regclass"
        assert connection.execute(sampled, name).fetchall() == [(0,)]
    question = vector_of("ship 17 of 3 rope 2")
    found = stored.nearest(of(collection), question, model="words", limit=5, floor=-2)
    assert (found.exact, len(found.rows)) == (False, 5)
    monkeypatch.setattr(postgres_messages, "EXACT_ROWS", 10_000)
    whole = messages_in(stored._pool).nearest(of(collection), question, model="words", limit=5, floor=-2)
    assert (whole.exact, [row.vector_id for row in whole.rows]) == (True, [row.vector_id for row in found.rows])
    monkeypatch.setattr(postgres_messages, "EXACT_ROWS", 10)
    every = stored.nearest(of(collection), question, model="words", limit=120, floor=-2)
    assert (every.exact, len(every.rows)) == (True, 120)


def test_a_small_collection_has_no_index_and_one_of_another_dimension_stands_beside_it(
    stored: PostgresMessages, collection: str
) -> None:
    sessions = PostgresSessions(stored._pool)
    store(sessions, collection, session("s", "ships", "soup"))
    vectors = vectors_of(sessions)
    wide = {content: np.eye(7, dtype=np.float32)[place] for place, content in enumerate(("ships", "soup"))}
    waiting = vectors.pending(collection, model="wide", limit=9)
    vectors.fill(collection, {passage: wide.get(passage.text, wide["soup"]) for passage in waiting}, model="wide")
    assert not stored._near.make(collection, "wide", dimensions=7)
    found = stored.nearest(of(collection), wide["ships"], model="wide", limit=9, floor=-2)
    assert [(row.content, row.raw) for row in found.rows] == [("ships", 1), ("soup", 0)]
    assert ids(near(stored, of(collection), "soup", limit=1)) == ["b"]


CONDITIONS = [
    ({"user_name": "Ada"}, {"a1", "a2"}),
    ({"session_id": ["t", "nowhere"]}, {"b1", "b2"}),
    ({"role": "assistant"}, {"a2", "b2"}),
    ({"time": {"from": "2026-03-01"}}, {"b1", "b2"}),
    ({"topic": "boats"}, {"a1", "a2"}),
    ({"tags": "x"}, {"b2"}),
    ({"topic": None}, {"b1", "b2"}),
    ({"tags": None}, {"a1", "a2", "b1"}),
    ({"role": {"prefix": "us"}}, {"a1", "b1"}),
    ({"role": {"from": "b"}}, {"a1", "b1"}),
    ({"role": None}, set()),
    ({"session_id": {"prefix": "s"}}, {"a1", "a2"}),
    ({"session_id": {"from": "sx", "to": "tx"}}, {"b1", "b2"}),
    ({"user_name": "Ada", "role": "user"}, {"a1"}),
    ({"user_name": {"prefix": "B"}}, {"b1", "b2"}),
    ({"user_name": "Eve"}, set()),
]


def talk(session_id: str, user: str, month: int, *, topic: str | None = None, name: str = "a") -> ChatSession:
    at = f"2026-0{month}-05T10:00:00Z"
    messages: list[dict[str, object]] = [
        {"message_id": f"{name}1", "role": "user", "text": "nine ships", "created_at": at},
        {"message_id": f"{name}2", "role": "assistant", "text": "ten ships", "created_at": at, "tags": ["x", "y"]},
    ]
    if topic is not None:
        del messages[1]["tags"]
    return ChatSession.model_validate(
        {"session_id": session_id, "user_name": user, "started_at": at, "messages": messages}
        | ({} if topic is None else {"topic": topic})
    )


@pytest.mark.parametrize("few", [1, 2, 100])
def test_a_field_that_some_messages_lack(
    messages: Messages, sessions: Sessions, collection: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata_index, "FEW_ROWS", few)
    told = [{"message_id": f"{name}{number}", "text": "ships"} for name in "ab" for number in range(4)]
    own: list[dict[str, object]] = [{}, {"topic": None}, {"topic": "sea"}, {"other": 1}]
    of_each = [message | given for message, given in zip(told, own * 2, strict=True)]
    at = "2026-01-05T10:00:00Z"
    talks = [
        {"session_id": "s", "started_at": at, "topic": "land", "messages": of_each[:4]},
        {"session_id": "t", "started_at": at, "messages": of_each[4:]},
    ]
    store(sessions, collection, *(ChatSession.model_validate(each) for each in talks))
    found, _ = messages.containing(of(collection, conditions={"topic": None}), "ships", limit=9)
    assert set(ids(list(found))) == {"a1", "b0", "b1", "b3"}


@pytest.mark.parametrize(("conditions", "expected"), CONDITIONS)
def test_a_filter_holds_in_every_way_of_searching(
    messages: Messages, sessions: Sessions, collection: str, conditions: dict[str, object], expected: set[str]
) -> None:
    drafts = store(sessions, collection, talk("s", "Ada", 1, topic="boats", name="a"), talk("t", "Bob", 4, name="b"))
    where = of(collection, conditions=conditions)
    assert set(ids(near(messages, where, "ships"))) == expected
    assert set(ids(list(messages.containing(where, "ships", limit=9)[0]))) == expected
    every = [passage.vector_id for draft in drafts for passage in draft.passages]
    assert {row.message_id for row in messages.rows(where, every, None, model="words").values()} == expected
    assert len(messages.sessions_of(where, limit=9)) == len({id_[0] for id_ in expected})
    for row in near(messages, where, "ships"):
        assert row.metadata == ({"topic": "boats"} if row.session_id == "s" else
                                {} if row.message_id == "b1" else {"tags": ["x", "y"]})  # fmt: skip


def test_a_message_is_excluded_within_its_session(messages: Messages, sessions: Sessions, collection: str) -> None:
    store(sessions, collection, session("s", "ships"), session("t", "ships"))
    where = of(collection, exclude_message_id="a", exclude_session_id="s")
    assert [row.session_id for row in near(messages, where, "ships")] == ["t"]


def test_a_snapshot_sees_nothing_that_comes_meanwhile(
    stored: PostgresMessages, collection: str, database_url: str
) -> None:
    store(PostgresSessions(stored._pool), collection, session("s", "ships"))
    with open_pool(database_url, max_size=2) as other, stored.snapshot():
        assert len(near(stored, of(collection), "ships")) == 1
        store(PostgresSessions(other), collection, session("t", "ships"))
        assert len(near(stored, of(collection), "ships")) == 1
        assert PostgresWords(stored._pool).search(collection, "messages", "ships", limit=9) == []
    assert len(near(stored, of(collection), "ships")) == 2
