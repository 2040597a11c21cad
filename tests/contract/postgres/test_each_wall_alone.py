"""Each wall alone keeps another collection out of every answer: the statements' predicates, and row-level security.

Predicates are taken away from the statements as they are sent, so there is no second copy of any statement.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import psycopg
import pytest

from querymill_shared.counters import FleetCounters
from querymill_workers.documents.store import PostgresDocuments
from querymill_workers.postgres.checked_connection import CheckedConnection
from querymill_workers.postgres.connection import Pool, open_pool
from querymill_workers.postgres.migrate import migrate
from querymill_workers.postgres.vector_index import VectorIndexes
from querymill_workers.retrievers.conversations.ports.passages import PassageFilter
from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts
from querymill_workers.retrievers.conversations.stores.postgres import PostgresConversations
from querymill_workers.retrievers.conversations.stores.postgres_passages import PostgresPassages
from querymill_workers.retrievers.conversations.stores.postgres_ranks import PostgresRanks
from querymill_workers.retrievers.files.stores.postgres import PostgresFiles
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter
from querymill_workers.retrievers.messages.stores.postgres import PostgresMessages
from querymill_workers.retrievers.messages.stores.postgres_sessions import PostgresSessions
from querymill_workers.retrievers.modules.stores.postgres import PostgresModules
from querymill_workers.retrievers.modules.stores.postgres_descriptions import PostgresDescriptions
from querymill_workers.retrievers.modules.stores.postgres_register import PostgresRegister
from querymill_workers.retrievers.reports.rules.fusion import HitKey
from querymill_workers.retrievers.reports.stores.postgres import PostgresReports
from querymill_workers.retrievers.reports.stores.postgres_life import PostgresReportLife
from querymill_workers.services.stores.postgres import PostgresTextVectors
from querymill_workers.services.stores.postgres_judgements import PostgresJudgements
from querymill_workers.stores import documents_in, vectors_in
from querymill_workers.vectors.ports import Vectors
from querymill_workers.versions.ports import Version, WrittenDocument
from querymill_workers.versions.postgres import PostgresVersions
from querymill_workers.words.postgres import PostgresWords
from tests.fixtures.chats import messages_in
from tests.fixtures.tenant_rows import fill

#: The collection that asks, and one that has the same ids and more. The third has nothing.
ASKS, OTHER, NONE = "asks", "other", "none"
VECTOR: Final = np.eye(1, 8, dtype=np.float32)[0]
TOPIC: Final = {"topic": "fleet"}
#: s1 is of every collection, s4 of the other one alone.
IDS: Final = ("s1", "s4")


@pytest.fixture
def own_url(empty_url: str) -> str:
    """A database with the newest schema and the collection that asks."""
    migrate(empty_url)
    fill(empty_url, ASKS, 3)
    return empty_url


def messages_of(pool: Pool) -> PostgresMessages:
    return messages_in(pool, ef_search=40)


def passages_of(pool: Pool) -> PostgresPassages:
    return PostgresPassages(pool, VectorIndexes(pool, "conversation_vectors"), ef_search=40)


def files_of(pool: Pool) -> Vectors:
    return vectors_in(pool, FleetCounters(None))["files"]


def near_conversations(pool: Pool) -> Any:
    """Ask for what brings ranks up to date: the sessions that wait, those that share phrases, and their references."""
    facts = SessionFacts("s", NOON, NOON, 1, 0, False, True, frozenset({7, 8}))
    with PostgresRanks(pool).graph(ASKS) as graph:
        return graph.changed(limit=9), graph.near(facts), graph.references("s1")


def standing_of_write(pool: Pool) -> Any:
    """Ask `versions` how a write stands to what was written and forgotten."""
    subjects = [WrittenDocument(document) for document in IDS]
    with PostgresVersions(pool).changing(ASKS, "messages", subjects, Version(1, "job"), whole=False) as standings:
        return {document: (standing.known, len(standing.filters)) for document, standing in standings.items()}


NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
WHERE: Final = MessageFilter(ASKS, ("message",), conditions=TOPIC)
KEYS: Final = [key for sha1 in IDS for key in (HitKey(sha1, "page", 1), HitKey(sha1, "chunk", 0))]
#: Every kind, by words, by vector, by filter, by id.
QUESTIONS: Final[dict[str, Callable[[Pool], Any]]] = {
    "judgements": lambda pool: PostgresJudgements(pool).list(ASKS, "messages", limit=100, after=None),
    "number of judgements": lambda pool: PostgresJudgements(pool).count(ASKS, "messages"),
    "messages by vector": lambda pool: messages_of(pool).nearest(WHERE, VECTOR, model="m", limit=9, floor=-2),
    "messages by substring": lambda pool: messages_of(pool).containing(WHERE, "ships", limit=9),
    "messages by id": lambda pool: messages_of(pool).rows(WHERE, IDS, VECTOR, model="m"),
    "sessions that pass": lambda pool: messages_of(pool).sessions_of(WHERE, limit=9),
    "sessions listed": lambda pool: PostgresDocuments(pool, "messages").list(ASKS, TOPIC, limit=9, after=None),
    "sessions counted": lambda pool: PostgresDocuments(pool, "messages").count(ASKS, TOPIC),
    "sessions whole": lambda pool: PostgresSessions(pool).whole(ASKS, IDS),
    "conversations": lambda pool: PostgresConversations(pool).sessions(ASKS, IDS),
    "conversations described": lambda pool: PostgresConversations(pool).describe(ASKS, IDS),
    "documents listed": lambda pool: PostgresDocuments(pool, "conversations").list(ASKS, TOPIC, limit=9, after=None),
    "conversations counted": lambda pool: PostgresDocuments(pool, "conversations").count(ASKS, {}),
    "conversations by vector": lambda pool: passages_of(pool).nearest(
        ASKS, VECTOR, model="m", limit=9, where=PassageFilter(start=datetime(2025, 1, 1, tzinfo=UTC))
    ),
    "passages that wait": lambda pool: vectors_in(pool, FleetCounters(None))["conversations"].pending(
        ASKS, model="next", limit=9
    ),
    "conversations that pass": lambda pool: PostgresDocuments(pool, "conversations").ids(ASKS, TOPIC),
    "references": lambda pool: PostgresConversations(pool).references(ASKS, ["s1"]),
    "ranks": lambda pool: [row.session_id for row in PostgresRanks(pool).top(ASKS, now=NOON, limit=9)],
    "near conversations": near_conversations,
    "parts of a rebuild": lambda pool: PostgresRanks(pool).begin(ASKS, "rebuild", mode="count"),
    "reports": lambda pool: PostgresDocuments(pool, "reports").ids(ASKS, TOPIC),
    "report cards": lambda pool: PostgresReports(pool).cards(ASKS),
    "pages and passages": lambda pool: PostgresReports(pool).texts(ASKS, KEYS),
    "passages by vector": lambda pool: PostgresReports(pool).search(
        ASKS, {"ships": VECTOR}, model="m", documents=IDS, depth=9, per_document=False, pages=False
    ),
    "passages without a vector": lambda pool: PostgresReports(pool).waiting(ASKS, IDS, model="n"),
    "named passages without a vector": lambda pool: PostgresReports(pool).unembedded(ASKS, KEYS, model="n"),
    "passages measured": lambda pool: PostgresReports(pool).measured(ASKS, KEYS, {"ships": VECTOR}, model="m"),
    "files that pass": lambda pool: PostgresDocuments(pool, "files").ids(ASKS, TOPIC),
    "files listed": lambda pool: PostgresDocuments(pool, "files").list(ASKS, {}, limit=9, after=None),
    "file revisions": lambda pool: PostgresDocuments(pool, "files").revisions(ASKS),
    "files": lambda pool: PostgresFiles(pool).describe(ASKS, IDS),
    "symbols": lambda pool: PostgresFiles(pool).named(ASKS, ["sail"], roles=("definition",), limit=9),
    "files by vector": lambda pool: PostgresFiles(pool).nearest(ASKS, VECTOR, model="m", limit=9),
    "files that wait": lambda pool: files_of(pool).pending(ASKS, model="n", limit=9),
    "files counted": lambda pool: (files_of(pool).counts(ASKS, model="m"), files_of(pool).lacking(ASKS, model="n")),
    "refused texts of files": lambda pool: (files_of(pool).refused(ASKS, limit=9), files_of(pool).count_refused(ASKS)),
    "model of files": lambda pool: (files_of(pool).active_model(ASKS), files_of(pool).active_model(NONE)),
    "worth of files": lambda pool: (files_of(pool).worth(ASKS, model="m"), files_of(pool).worth(NONE, model="m")),
    "documents in MongoDB": lambda pool: PostgresRegister(pool).registered(ASKS, IDS),
    "documents of a module": lambda pool: PostgresModules(pool).recall(ASKS, ["actor"], match="exact"),
    "documents of a suffix": lambda pool: PostgresModules(pool).recall(ASKS, ["tor"], match="suffix"),
    "vocabulary": lambda pool: PostgresModules(pool).vocabulary(ASKS),
    "code documents described": lambda pool: PostgresModules(pool).describe(ASKS, IDS),
    "all code documents described": lambda pool: list(PostgresModules(pool).describe_all(ASKS)),
    "code documents": lambda pool: PostgresModules(pool).documents(ASKS, IDS),
    "code documents that pass": lambda pool: PostgresDocuments(pool, "modules").ids(ASKS, TOPIC),
    "code documents counted": lambda pool: PostgresDocuments(pool, "modules").count(ASKS, TOPIC),
    "descriptions by vector": lambda pool: PostgresDescriptions(pool).nearest(ASKS, VECTOR, model="m", limit=9),
    "descriptions that wait": lambda pool: vectors_in(pool, FleetCounters(None))["modules"].pending(
        ASKS, model="next", limit=9
    ),
    "vectors of texts": lambda pool: PostgresTextVectors(pool).stored(ASKS, IDS, model="m"),
    "writes and what was forgotten": standing_of_write,
    "words": lambda pool: PostgresWords(pool).search(ASKS, "messages", "ships", limit=9, groups=["all"]),
    "entries": lambda pool: PostgresWords(pool).count(ASKS, "messages"),
}  # fmt: skip
#: A predicate on the collection: a column, and the bound value or the literal of a collection.
OWN_PREDICATE: Final = re.compile(r"((?:\w+\.)?collection)\s*=\s*(?:%\(collection\)s|'asks')")


#: Tables that keep rows of a collection that was dropped, each with the reason.
KEPT: Final = {
    "tombstones": "they keep late writes from bringing back what was forgotten, and hold no text",
    "module_vocabularies": "caches are keyed by its counters, so they must not begin again",
    "report_generations": "caches are keyed by the number, so it must not begin again",
}
#: Tables of the present schema that belong to collections, with or without a column for it.
WALLED: Final = (
    "SELECT c.relname, EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'collection')"
    " FROM pg_class AS c WHERE c.relforcerowsecurity AND c.relkind IN ('r', 'p') ORDER BY 1"
)


@contextmanager
def without_predicates() -> Iterator[list[str]]:
    """Send every statement without its predicates on the collection. Yield what was sent in their place."""
    execute: Callable[..., Any] = CheckedConnection.execute
    sent: list[str] = []

    def strip(self: CheckedConnection, query: Any, params: Any = None, **options: Any) -> Any:
        text = query if isinstance(query, str) else query.as_string(self)
        stripped = OWN_PREDICATE.sub(r"\1 IS NOT NULL", text)
        if stripped != text:
            sent.append(stripped)
        return execute(self, stripped.encode(), params, **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(CheckedConnection, "execute", strip)
        yield sent


def walled(url: str) -> dict[str, bool]:
    """Return the tables with a wall, and whether each has a column for the collection."""
    with psycopg.connect(url) as connection:
        tables: dict[str, bool] = dict(connection.execute(WALLED).fetchall())
    assert len(tables) > 20
    return tables


def lower(url: str) -> None:
    """Take row-level security from every table."""
    with psycopg.connect(url) as connection:
        for table in walled(url):
            connection.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY".encode())


def rows_of(url: str, collection: str, tables: Iterable[str]) -> dict[str, list[str]]:
    """Return what stands in each table, as a role that sees one collection. Walls must stand."""
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('querymill.collection', %s, true)", [collection])
        connection.execute("SET LOCAL ROLE querymill_reader")
        return {
            table: [row for (row,) in connection.execute(f"SELECT t::text FROM {table} AS t ORDER BY 1".encode())]
            for table in tables
        }


def answers(url: str) -> dict[str, Any]:
    """Ask every question. A question that the server refuses is answered by what it says."""
    found: dict[str, Any] = {}
    with open_pool(url, max_size=2) as pool:
        for name, ask in QUESTIONS.items():
            try:
                found[name] = ask(pool)
            except psycopg.Error as error:
                found[name] = repr(error)
    return found


def drop_all(url: str) -> None:
    """Drop the collection that asks, kind by kind, as the flows do, and what belongs to no kind."""
    with open_pool(url, max_size=2) as pool:
        sessions, reports, files = PostgresSessions(pool), PostgresReportLife(pool), PostgresFiles(pool)
        conversations, words = PostgresConversations(pool), PostgresWords(pool)
        for id_ in ("s1", "s2", "s3"):
            sessions.drop(ASKS, id_)
            conversations.drop(ASKS, id_)
            reports.drop(ASKS, id_)
        files.drop(ASKS, ["s1", "s2", "s3"])
        PostgresDescriptions(pool).drop(ASKS, ["s1", "s2", "s3"])
        PostgresRegister(pool).strike(ASKS, ["s1", "s2", "s3"])
        modules = PostgresModules(pool)
        for id_ in ("s1", "s2", "s3"):
            modules.drop(ASKS, id_)
        for kind in ("messages", "conversations", "reports", "files"):
            PostgresVersions(pool).leave_filter_tombstone(ASKS, kind, Version(99, "drop"))
        PostgresTextVectors(pool).drop_all(ASKS)
        PostgresJudgements(pool).drop_all(ASKS, "messages")
        for space in ("messages", "pages"):
            words.drop_all(ASKS, space)
        for store in (conversations, modules):
            store.drop_remains(ASKS)
        for documents in documents_in(pool).values():
            documents.drop(ASKS, ["s1", "s2", "s3"])
        for vectors in vectors_in(pool, FleetCounters(None)).values():
            vectors.drop_model(ASKS)


def test_every_table_with_a_wall_shows_a_collection_its_own_rows_alone(own_url: str) -> None:
    """A new table fails here until `tenant_rows.FILL` has rows for it."""
    tables = walled(own_url)
    alone = rows_of(own_url, ASKS, tables)
    assert [table for table, rows in alone.items() if not rows] == []
    fill(own_url, OTHER, 5)
    assert rows_of(own_url, ASKS, tables) == alone
    others = rows_of(own_url, OTHER, tables)
    assert [table for table in tables if not others[table]] == []
    with psycopg.connect(own_url) as connection:
        connection.execute("SET LOCAL querymill.across = on")
        for table in tables:
            counted = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
            assert counted == (len(alone[table]) + len(others[table]),), table


def test_the_predicates_alone_keep_another_collection_out(own_url: str) -> None:
    lower(own_url)
    alone = answers(own_url)
    assert all(alone.values())
    fill(own_url, OTHER, 5)
    assert answers(own_url) == alone


def test_row_level_security_alone_keeps_another_collection_out(own_url: str) -> None:
    alone = answers(own_url)
    fill(own_url, OTHER, 5)
    with without_predicates() as sent:
        assert answers(own_url) == alone
    assert len(sent) >= len(QUESTIONS)


def test_without_both_every_answer_changes_and_every_table_was_asked(own_url: str) -> None:
    """A new table fails here until a question reads it."""
    tables = walled(own_url)
    alone = answers(own_url)
    fill(own_url, OTHER, 5)
    lower(own_url)
    with without_predicates() as sent:
        open_to_all = answers(own_url)
    assert [name for name in QUESTIONS if open_to_all[name] == alone[name]] == []
    named = set(re.findall(r"\w+", " ".join(sent)))
    assert [table for table, has_collection in tables.items() if has_collection and table not in named] == []


@pytest.mark.parametrize("wall", ["predicates", "row-level security"])
def test_each_wall_alone_keeps_what_another_collection_has_when_one_is_dropped(own_url: str, wall: str) -> None:
    """A new table fails here until dropping its collection leaves no row of it, or its reason is named."""
    fill(own_url, OTHER, 5)
    tables = walled(own_url)
    others = rows_of(own_url, OTHER, tables)
    with without_predicates() if wall == "row-level security" else nullcontext():
        if wall == "predicates":
            lower(own_url)
        drop_all(own_url)
    migrate(own_url)  # raises the walls again
    assert rows_of(own_url, OTHER, tables) == others
    if wall == "predicates":  # without them, a collection in a table that has no wall is taken for another
        left = rows_of(own_url, ASKS, tables)
        assert {table for table in tables if left[table]} == KEPT.keys()
