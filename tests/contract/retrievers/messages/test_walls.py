"""No row of another session or collection ever appears: predicates first, and row-level security behind them."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import sql

from querymill_workers.postgres.connection import open_pool
from querymill_workers.postgres.vector_index import NearIndexes
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter, MessageRow
from querymill_workers.retrievers.messages.stores import postgres as postgres_messages
from querymill_workers.retrievers.messages.stores.postgres import PostgresMessages
from querymill_workers.retrievers.messages.stores.postgres_sessions import PostgresSessions
from tests.fakes.vectors import vector_of
from tests.fixtures.chats import messages_in, session, store

TEXTS = ("ships", "ships and soup", "soup", "渲染 ships", "100% rope", "ships at last")
SESSIONS = ("s", "t", "s' OR true --")
#: What a seeded bug puts for the predicates: everything passes, other collections too if nothing else holds.
LEAK = sql.SQL(" OR true")


@dataclass(frozen=True)
class Chats:
    """Two collections that hold the same sessions with the same ids; every content names its own place."""

    messages: PostgresMessages
    collections: tuple[str, str]

    def every_way(self, where: MessageFilter, text: str) -> list[MessageRow]:
        """Search every way there is."""
        vector, both = vector_of(text), [self.collections[0], self.collections[1]]
        near = self.messages.nearest(where, vector, model="words", limit=50, floor=-2).rows
        containing, _ = self.messages.containing(where, text, limit=50)
        ids = [row.vector_id for name in both for row in self._all(name)]
        named = self.messages.rows(where, ids, vector, model="words").values()
        return [*near, *containing, *named]

    def _all(self, collection: str) -> list[MessageRow]:
        where = MessageFilter(collection, ("message", "context"))
        return list(self.messages.nearest(where, vector_of("x"), model="words", limit=99, floor=-2).rows)


@pytest.fixture(scope="module")
def chats(database_url: str) -> Iterator[Chats]:
    collections = (f"a{uuid4().hex}", f"b{uuid4().hex}")
    with open_pool(database_url, max_size=4) as pool:
        messages = messages_in(pool)
        for collection in collections:
            # The last session is in this collection alone: its rows' ids are in no other.
            texts = {name: [f"{collection} {name} {text}" for text in TEXTS] for name in (*SESSIONS, collection)}
            store(PostgresSessions(pool), collection, *[session(name, *some) for name, some in texts.items()])
        yield Chats(messages, collections)


filters = st.builds(
    MessageFilter,
    st.sampled_from([0, 1]).map(str),
    st.sampled_from([("message",), ("context",), ("message", "context")]),
    st.sampled_from([None, *SESSIONS, "", "nowhere"]),
    st.sampled_from([None, "a", "c", "zz", ""]),
)


def placed(chats: Chats, where: MessageFilter) -> MessageFilter:
    collection = chats.collections[int(where.collection)]
    return MessageFilter(collection, where.vector_types, where.session_id, where.exclude_message_id)


def strangers(rows: list[MessageRow], where: MessageFilter) -> list[MessageRow]:
    """Name the rows that the filter must not let through."""
    return [
        row
        for row in rows
        if where.collection not in row.content
        or (where.session_id is not None and row.session_id != where.session_id)
        or (where.exclude_message_id is not None and row.message_id == where.exclude_message_id)
        or row.vector_type not in where.vector_types
    ]


@pytest.mark.parametrize("exact_rows", [0, 10_000])
@given(where=filters, text=st.sampled_from([*TEXTS, "%", "' OR 1=1"]))
def test_no_row_of_another_session_or_collection_ever_appears(
    chats: Chats, exact_rows: int, where: MessageFilter, text: str
) -> None:
    asked = placed(chats, where)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(postgres_messages, "EXACT_ROWS", exact_rows)
        patched.setattr(NearIndexes, "exists", lambda *_: True)
        found = chats.every_way(asked, text)
        assert strangers(found, asked) == []
        if asked.session_id in (None, *SESSIONS):
            assert found


def test_with_a_filter_that_lets_everything_through_row_level_security_still_holds(
    chats: Chats, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = postgres_messages.predicates
    monkeypatch.setattr(postgres_messages, "predicates", lambda where, *rest: honest(where, *rest) + LEAK)
    where = MessageFilter(chats.collections[0], ("message",), "s", "a")
    leaked = strangers(chats.every_way(where, "ships"), where)
    # The rule above bites: rows of other sessions came through the broken predicates …
    assert {row.session_id for row in leaked} >= {"t"}
    # … but not one of the other collection, although the predicates let it.
    assert all(chats.collections[0] in row.content for row in leaked)


def test_without_row_level_security_the_same_bug_would_leak(
    chats: Chats, database: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = postgres_messages.predicates
    monkeypatch.setattr(postgres_messages, "predicates", lambda where, *rest: honest(where, *rest) + LEAK)
    where = MessageFilter(chats.collections[0], ("message",), "s")
    statement = postgres_messages._statement("containing", where)
    values = postgres_messages._values(where) | {"pattern": "%ships%", "limit": 100_000}
    with database.transaction(force_rollback=True):
        database.execute("ALTER TABLE chat_passages DISABLE ROW LEVEL SECURITY")
        rows = [postgres_messages._row(row) for _, *row in database.execute(statement, values)]
    assert any(chats.collections[1] in row.content for row in rows)


@pytest.mark.parametrize("table", ["chat_sessions", "chat_messages", "chat_passages", "chat_vectors"])
def test_the_role_sees_one_collection_and_nothing_without_one(
    chats: Chats, database: psycopg.Connection, table: str
) -> None:
    with database.transaction():
        database.execute("SET LOCAL ROLE querymill_messages")
        statement = f"SELECT DISTINCT collection FROM {table}"
        assert database.execute(statement).fetchall() == []
        database.execute("SELECT set_config('querymill.collection', %s, true)", [chats.collections[1]])
        assert database.execute(statement).fetchall() == [(chats.collections[1],)]


def test_the_role_cannot_write_into_another_collection(chats: Chats, database: psycopg.Connection) -> None:
    stranger = "INSERT INTO chat_sessions VALUES (%s, 'x', null, null, now(), '{}', 'r')"
    with database.transaction(force_rollback=True):
        database.execute("SET LOCAL ROLE querymill_messages")
        database.execute("SELECT set_config('querymill.collection', %s, true)", [chats.collections[1]])
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            database.execute(stranger, [chats.collections[0]])


def test_a_connection_comes_back_as_it_was(chats: Chats, database_url: str) -> None:
    with open_pool(database_url, max_size=1) as pool:
        PostgresSessions(pool).revisions(chats.collections[0], ["s"])
        with pool.connection() as connection:
            row = connection.execute(
                "SELECT current_user = session_user, current_setting('querymill.collection', true)"
            ).fetchone()
    assert row in {(True, ""), (True, None)}
