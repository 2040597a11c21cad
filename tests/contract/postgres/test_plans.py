"""Behind row-level security the indexes still serve: read from the plans of the stores' own statements, as they ran."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np
import psycopg
import pytest

from querymill_workers.documents.store import PostgresDocuments
from querymill_workers.postgres import vector_index
from querymill_workers.postgres.connection import Pool, open_pool
from querymill_workers.postgres.migrate import migrate
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter
from querymill_workers.retrievers.messages.stores import postgres as messages
from querymill_workers.retrievers.messages.stores.postgres import PostgresMessages
from querymill_workers.words.ports import WordUnit
from querymill_workers.words.postgres import PostgresWords
from tests.fixtures.chats import messages_in
from tests.fixtures.databases import own_database
from tests.fixtures.plans import plans_of, recorded, rows_read
from tests.fixtures.short_forms import all_at_night

ROWS: Final = 4_000
NARROW: Final = {"topic": "t7"}
VECTOR: Final = np.eye(1, 8, dtype=np.float32)[0]
#: Rows of two collections. The metadata of a few has the same topic.
FILL: Final = """
INSERT INTO chat_sessions (collection, session_id, user_name, started_at, metadata)
SELECT c, 's' || i, 'u' || i % 400, '2026-01-01Z'::timestamptz + make_interval(hours => i), {metadata}
FROM unnest('{a,b}'::text[]) AS c, {numbers};
INSERT INTO chat_messages (collection, session_id, message_key, number, content, created_at, metadata, role)
SELECT c, 's' || i, 'k', 0, 'ships ' || i, now(),
    {metadata} || CASE WHEN i % 400 = 7 THEN '{}' ELSE '{"seen": 1}' END::jsonb,
    CASE i % 400 WHEN 7 THEN 'tool' WHEN 9 THEN NULL ELSE 'user' END
FROM unnest('{a,b}'::text[]) AS c, {numbers};
INSERT INTO chat_passages (collection, session_id, key, vector_id, message_key, vector_type, content, created_at,
    metadata, user_name, role)
SELECT collection, session_id, session_id, session_id, message_key, 'message',
    'ships ' || repeat(' of the harbour', 40), started_at, s.metadata || m.metadata, nullif(user_name, 'u9'), role
FROM chat_sessions AS s JOIN chat_messages AS m USING (collection, session_id);
INSERT INTO chat_vectors (collection, model, session_id, key, embedding)
SELECT collection, 'm', session_id, key,
    (SELECT array_agg(sin(hashtext(session_id || d))::real) FROM generate_series(1, 8) AS d)::vector
FROM chat_passages;
UPDATE chat_sessions SET user_name = NULL WHERE user_name = 'u9';
INSERT INTO metadata_values (collection, kind, value, document, part, field, number, text)
SELECT collection, 'chat_messages', entry.value, session_id, message_key, entry.field, entry.number, entry.text
FROM chat_messages, metadata_entries(metadata) AS entry;
INSERT INTO documents (collection, retriever, document, revision, size, unit, times, first_at, last_at, metadata,
    reserved)
SELECT collection, retriever, session_id, 'r', 1, 'messages',
    CASE WHEN retriever <> 'reports' OR user_name IS NOT NULL THEN ARRAY[started_at] ELSE '{}' END,
    CASE WHEN retriever <> 'reports' OR user_name IS NOT NULL THEN started_at END,
    CASE WHEN retriever <> 'reports' OR user_name IS NOT NULL THEN started_at END, metadata,
    CASE retriever
        WHEN 'reports' THEN jsonb_build_object('company', user_name, 'period', user_name,
            'title', coalesce(user_name, ''), 'published_at', CASE WHEN user_name IS NOT NULL THEN started_at::date END)
        WHEN 'files' THEN jsonb_build_object('language', user_name)
        ELSE jsonb_build_object('user_name', user_name, 'role', CASE
            WHEN user_name = 'u7' THEN '["user", "tool"]' WHEN user_name IS NULL THEN NULL ELSE '["user"]' END::jsonb)
    END
FROM chat_sessions, unnest('{messages,conversations,reports,files}'::text[]) AS retriever;
INSERT INTO metadata_values (collection, kind, value, document, part, field, number, text)
SELECT collection, entry.kind, entry.value, document, '', entry.field, entry.number, entry.text
FROM documents, document_entries(retriever, times, metadata || reserved) AS entry
ON CONFLICT DO NOTHING;
"""
#: Of the sessions of a user, their messages have another role and the metadata no owner.
METADATA: Final = """jsonb_build_object('topic', 't' || i % 400, 'rank', i, 'name', 'n' || lpad(i::text, 6, '0'))
    || CASE WHEN i % 400 = 7 THEN '{}' ELSE '{"owner": "x"}' END::jsonb"""


@pytest.fixture(scope="module")
def filled_url(database_url: str) -> Iterator[str]:
    """A database with two collections of every kind."""
    with psycopg.connect(database_url, autocommit=True) as connection, own_database(connection) as name:
        url = f"{database_url.rsplit('/', 1)[0]}/{name}"
        migrate(url)
        with psycopg.connect(url, autocommit=True) as filling:
            filling.execute("SET querymill.across = on")
            filling.execute(
                FILL.replace("{numbers}", f"generate_series(1, {ROWS}) AS i").replace("{metadata}", METADATA)
            )
            with open_pool(url, max_size=2) as pool:
                fill_words(PostgresWords(pool))
            filling.execute("VACUUM ANALYZE")
        yield url


def fill_words(words: PostgresWords) -> None:
    for collection in "ab":
        units = [WordUnit(f"u{number}", f"ship w{number % 97} w{number % 89}") for number in range(ROWS)]
        for start in range(0, ROWS, 500):
            words.put(collection, "messages", units[start : start + 500])
        while words.fold(collection, "messages"):
            pass


def of_messages(conditions: dict[str, Any]) -> MessageFilter:
    return MessageFilter("a", ("message",), conditions=conditions)


#: Who is asked with a filter, in every kind.
FILTERED: Final[dict[str, Callable[[Pool, dict[str, Any]], Any]]] = {
    "messages by vector": lambda pool, conditions: messages_in(pool, ef_search=40).nearest(
        of_messages(conditions), VECTOR, model="m", limit=5, floor=-2
    ),
    "messages by substring": lambda pool, conditions: messages_in(pool, ef_search=40).containing(
        of_messages(conditions), "ships", limit=5
    ),
    **{
        retriever: partial(lambda retriever, pool, given: PostgresDocuments(pool, retriever).ids("a", given), retriever)
        for retriever in ("messages", "conversations", "reports", "files")
    },
}
#: Conditions that a few documents meet, and the index that must serve each.
CONDITIONS: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "value": (NARROW, "metadata_values_pkey"),
    "range of numbers": ({"rank": {"from": 70, "to": 79.5}}, "metadata_values_number"),
    "range of texts": ({"name": {"from": "n000070", "to": "n000079"}}, "metadata_values_text"),
    "open range": ({"rank": {"from": ROWS - 9}}, "metadata_values_number"),
    "prefix": ({"name": {"prefix": "n00007"}}, "metadata_values_text"),
    "absent": ({"owner": None}, "metadata_values_pkey"),
}
LATE: Final = {"from": "2026-06-15T00:00:00Z"}
EARLY: Final = {"to": "2026-01-03"}
BETWEEN: Final = {"from": "2026-03-31", "to": "2026-04-02T12:00:00Z"}
#: The same with fields of the kind.
FIELDS: Final[dict[str, dict[str, tuple[Any, str]]]] = {
    "messages by vector": {
        "user_name": ("u7", "chat_passages_user"), "time": (LATE, "chat_passages_time"),
        "session_id": ("s7", "chat_passages_"), "role": ("tool", "chat_passages_role"),
    },
    "conversations": {
        "user_name": ("u7", "metadata_values_pkey"), "time": (LATE, "documents_last"),
        "session_id": ("s7", "documents_pkey"), "role": ("tool", "metadata_values_pkey"),
    },
    "reports": {
        "company": ("u7", "metadata_values_pkey"), "period": ("u7", "metadata_values_pkey"),
        "title": ("u7", "metadata_values_pkey"),
        "published_at": ({"from": "2026-06-15"}, "documents_last"),
    },
    "files": {"path": ({"prefix": "s77"}, "documents_pkey"), "language": ("u7", "metadata_values_pkey")},
}  # fmt: skip
FIELDS["messages"] = FIELDS["conversations"]
#: More conditions on some of these fields: that they are absent, and times.
MORE: Final[tuple[tuple[str, str, Any, str], ...]] = (
    ("messages by vector", "user_name", None, "chat_passages_user"),
    ("messages", "user_name", None, "metadata_values_pkey"),
    ("conversations", "user_name", None, "metadata_values_pkey"),
    ("reports", "published_at", None, "metadata_values_pkey"),
    ("files", "language", None, "metadata_values_pkey"),
    ("conversations", "time", EARLY, "documents_first"),
    ("conversations", "time", BETWEEN, "metadata_values_pkey"),
    ("conversations", "time", ["2026-02-01", "2026-04-01"], "metadata_values_pkey"),
)
#: Fields whose prefixes and ranges some index must serve.
SPELLED: Final[dict[str, tuple[str, ...]]] = {
    "messages by vector": ("user_name", "session_id", "role"),
    "messages": ("user_name", "session_id", "role"),
    "conversations": ("user_name", "session_id", "role"),
    "reports": ("company", "period", "title"),
    "files": ("path", "language"),
}
BEGINNINGS: Final = {"role": "to", "session_id": "s391", "path": "s391"}
#: What is asked, and the index that must serve it.
ASKED: Final[dict[str, tuple[Callable[[Pool], Any], str]]] = (
    {
        f"{name}, {how}": (partial(lambda asks, given, pool: asks(pool, given), asks, given), index)
        for name, asks in FILTERED.items()
        for how, (given, index) in CONDITIONS.items()
    }
    | {
        f"{name}, {field}": (
            partial(lambda asks, given, pool: asks(pool, given), FILTERED[name], {field: given}),
            index,
        )
        for name, fields in FIELDS.items()
        for field, (given, index) in fields.items()
    }
    | {
        f"{name}, {field} {given}": (
            partial(lambda asks, given, pool: asks(pool, given), FILTERED[name], {field: given}),
            index,
        )
        for name, field, given, index in MORE
    }
    | {
        f"{name}, {field} {given}": (
            partial(lambda asks, given, pool: asks(pool, given), FILTERED[name], {field: given}),
            "",
        )
        for name, fields in SPELLED.items()
        for field in fields
        for begins in [BEGINNINGS.get(field, "u391")]
        for given in ({"prefix": begins}, {"from": begins, "to": f"{begins}z"})
    }
    | {
        f"{name}, {field} {given}": (
            partial(lambda asks, given, pool: asks(pool, given), FILTERED[name], {field: given}),
            "",
        )
        for name, field, given in (  # what no role is known of, and a field that only messages have
            ("messages by vector", "role", None),
            ("messages", "role", None),
            ("conversations", "role", None),
            ("messages by vector", "seen", None),
            ("messages by substring", "seen", None),
        )
    }
    | {
        "words": (lambda pool: PostgresWords(pool).search("a", "messages", "w7 w11", limit=5), "word_blocks_pkey"),
    }
)
#: Tables of which a narrow filter reads a few rows only.
LARGE: Final = (
    "chat_passages",
    "chat_messages",
    "chat_sessions",
    "documents",
    "word_blocks",
)


@pytest.mark.parametrize("asked", all_at_night(ASKED, short=[*ASKED][::3]))
def test_the_index_serves_behind_the_wall(filled_url: str, asked: str) -> None:
    ask, index = ASKED[asked]
    with open_pool(filled_url, max_size=2) as pool:
        ask(pool)
        with recorded() as statements:
            assert ask(pool)
    plans = "\n".join(plans_of(filled_url, statements))
    assert index in plans
    assert [table for table in LARGE if f"Seq Scan on {table}" in plans] == [], plans
    read = rows_read(plans)
    assert {table: read[table] for table in LARGE if read[table] >= ROWS / 20} == {}, plans


def test_near_vectors_of_a_large_collection_are_found_by_their_index_behind_the_wall(
    filled_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "LARGE_ROWS", ROWS // 2)
    monkeypatch.setattr(messages, "EXACT_ROWS", ROWS // 2)
    with open_pool(filled_url, max_size=2) as pool:
        store = messages_in(pool, ef_search=40)
        assert store._near.make("a", "m", dimensions=8)
        store.nearest(of_messages({}), VECTOR, model="m", limit=5, floor=-2)
        with recorded() as statements:
            assert not store.nearest(of_messages({}), VECTOR, model="m", limit=5, floor=-2).exact
        plans = "\n".join(plans_of(filled_url, statements))
        store._near.drop("a", "m")
    assert "Index Scan using chat_vectors_near_" in plans


#: Filters that all, a half, a tenth, a hundredth and a four-hundredth of the rows pass.
PASSING: Final[dict[str, dict[str, Any]]] = {
    "all": {},
    "half": {"rank": {"to": ROWS // 2}},
    "tenth": {"rank": {"to": ROWS // 10}},
    "hundredth": {"topic": ["t1", "t2", "t3", "t4"]},
    "few": NARROW,
}


@pytest.mark.nightly  # by day: near vectors of a large collection, in this file
def test_an_index_of_near_vectors_leads_to_nearly_all_of_the_nearest_under_any_filter(
    filled_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "LARGE_ROWS", ROWS // 2)
    queries = np.random.default_rng(7).standard_normal((20, 8)).astype(np.float32)

    def nearest(store: PostgresMessages, conditions: dict[str, Any]) -> tuple[list[set[str]], bool]:
        found = [
            store.nearest(of_messages(conditions), query, model="m", limit=10, floor=-2)
            for query in queries / np.linalg.norm(queries, axis=1, keepdims=True)
        ]
        return [{row.vector_id for row in each.rows} for each in found], all(each.exact for each in found)

    with open_pool(filled_url, max_size=2) as pool:
        store = messages_in(pool)
        truth = {name: nearest(store, conditions) for name, conditions in PASSING.items()}
        assert store._near.make("a", "m", dimensions=8)
        monkeypatch.setattr(messages, "EXACT_ROWS", 0)
        found = {name: nearest(store, conditions) for name, conditions in PASSING.items()}
        store._near.drop("a", "m")
    assert all(exact for _, exact in truth.values())
    assert not found["all"][1]
    for name, (wanted, _) in truth.items():
        shared = sum(len(each & other) for each, other in zip(wanted, found[name][0], strict=True))
        assert shared >= 0.97 * sum(map(len, wanted)), name


def test_nothing_is_left_of_the_words_whose_indexes_are_truncated(filled_url: str) -> None:
    """The tables come from the columns: what names an index by its number goes with it, also if numbers begin again."""
    named = "SELECT table_name FROM information_schema.columns WHERE column_name = 'word_index'"
    with psycopg.connect(filled_url) as connection:
        tables = [table for (table,) in connection.execute(named)]
        assert len(tables) >= 5
        connection.execute("TRUNCATE word_indexes RESTART IDENTITY")
        connection.execute("SET LOCAL querymill.across = on")
        for table in tables:
            counted = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
            assert counted == (0,), table
        connection.rollback()
