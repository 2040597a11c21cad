"""No row of another session or collection ever appears: predicates first, and row-level security behind them."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.postgres.connection import open_pool
from querymill_workers.postgres.vector_index import VectorIndexes
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter, MessageRow
from querymill_workers.retrievers.messages.stores import postgres as postgres_messages
from querymill_workers.retrievers.messages.stores.postgres import PostgresMessages
from querymill_workers.retrievers.messages.stores.postgres_sessions import PostgresSessions
from tests.fakes.vectors import vector_of
from tests.fixtures.chats import messages_in, session, store

TEXTS = ("ships", "ships and soup", "soup", "渲染 ships", "100% rope", "ships at last")
SESSIONS = ("s", "t", "s' OR true --")


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
        patched.setattr(VectorIndexes, "exists", lambda *_: True)
        found = chats.every_way(asked, text)
        assert strangers(found, asked) == []
        if asked.session_id in (None, *SESSIONS):
            assert found


def test_the_role_cannot_write_into_another_collection(chats: Chats, database: psycopg.Connection) -> None:
    stranger = "INSERT INTO chat_sessions VALUES (%s, 'x', null, null, now(), '{}')"
    with database.transaction(force_rollback=True):
        database.execute("SET LOCAL ROLE querymill_reader")
        database.execute("SELECT set_config('querymill.collection', %s, true)", [chats.collections[1]])
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            database.execute(stranger, [chats.collections[0]])
