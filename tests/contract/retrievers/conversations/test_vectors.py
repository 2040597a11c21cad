"""What every store of passages must do: run on that in memory and on PostgreSQL."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

import numpy as np
import psycopg
import pytest

from querymill_workers.postgres import vector_index
from querymill_workers.postgres.connection import Pool, open_pool
from querymill_workers.retrievers.conversations.ports.passages import (
    CutSession,
    NearSessions,
    PassageFilter,
    Passages,
)
from querymill_workers.retrievers.conversations.rules.embedded_passages import SpokenText, cut_passages
from querymill_workers.retrievers.conversations.stores import postgres_passages
from querymill_workers.retrievers.conversations.stores.memory_passages import MemoryPassages
from querymill_workers.retrievers.conversations.stores.postgres import PostgresConversations
from querymill_workers.retrievers.conversations.stores.postgres_ranks import PostgresRanks
from querymill_workers.retrievers.conversations.write.derived import cut_session
from querymill_workers.vectors.ports import Vectors
from tests.fakes.vectors import DIMENSIONS, vector_of
from tests.fixtures.conversations import START, Store, draft, memory_store
from tests.fixtures.passages import passages_in
from tests.fixtures.words import see

MODEL, EVERYWHERE = "words", PassageFilter()


@dataclass
class Stored:
    """A store of sessions, and that of their passages."""

    store: Store
    passages: Passages
    vectors: Vectors
    collection: str

    def put(self, session_id: str, *texts: str, day: float = 0) -> None:
        """Put a session of long messages, each a passage of its own, and its passages."""
        prepared = draft(session_id, *(f"{text:<300}" for text in texts), day=day)
        self.store.put(self.collection, prepared)
        self.passages.put(self.collection, [cut_session(prepared.session)])

    def drop(self, session_id: str) -> None:
        """Drop a session."""
        self.passages.drop(self.collection, session_id)
        self.store.conversations.drop(self.collection, session_id)

    def pending(self, *session_ids: str, model: str = MODEL) -> list[tuple[str, str]]:
        """List what is pending, without the blanks that fill it up."""
        found = self.vectors.pending(self.collection, model=model, limit=99, documents=session_ids or None)
        return sorted((passage.document, passage.text.strip()) for passage in found)

    def embed(self, *session_ids: str, model: str = MODEL) -> None:
        """Give all pending passages the vector of their words."""
        found = self.vectors.pending(self.collection, model=model, limit=99, documents=session_ids or None)
        self.vectors.fill(self.collection, {passage: vector_of(passage.text) for passage in found}, model=model)

    def near(self, text: str, where: PassageFilter = EVERYWHERE, limit: int = 9, model: str = MODEL) -> NearSessions:
        """Search."""
        return self.passages.nearest(self.collection, vector_of(text), model=model, limit=limit, where=where)

    def found(self, text: str, where: PassageFilter = EVERYWHERE, limit: int = 9) -> list[str]:
        """Search for ids."""
        return [session.session_id for session in self.near(text, where, limit).sessions]


@pytest.fixture(params=["memory", "postgres"])
def stored(request: pytest.FixtureRequest) -> Iterator[Stored]:
    collection = f"c{uuid4().hex}"
    if request.param == "memory":
        passages = MemoryPassages()
        yield Stored(memory_store(), passages, passages.vectors, collection)
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool:
        store = Store(PostgresConversations(pool), PostgresRanks(pool))
        yield Stored(store, *passages_in(pool), collection)


def test_the_nearest_passage_of_each_session_is_found_and_what_is_pending_is_counted(stored: Stored) -> None:
    stored.put("a", "ships in the harbour", "bread")
    stored.put("b", "ships")
    assert stored.pending() == [("a", "bread"), ("a", "ships in the harbour"), ("b", "ships")]
    assert stored.near("ships") == NearSessions([], 3)
    stored.embed("a")
    near = stored.near("bread")
    assert ([session.session_id for session in near.sessions], near.pending) == (["a"], 1)
    (only,) = near.sessions
    assert only.cosine == pytest.approx(1, abs=1e-6)
    assert (only.passage.number, only.passage.place, only.passage.message) == (1, 1, "=1")
    assert only.passage.first_at == START + timedelta(minutes=1)
    stored.embed()
    assert (stored.found("ships"), stored.near("ships").pending) == (["b", "a"], 0)
    assert stored.found("ships", limit=1) == ["b"]


def test_filters_are_part_of_the_search(stored: Stored) -> None:
    for number in range(5):
        stored.put(f"s{number}", "ships" if number else "ships ships", day=number)
    stored.embed()
    assert stored.found("ships", PassageFilter(["s3", "none"])) == ["s3"]
    assert stored.found("ships", PassageFilter([])) == []
    from_then = PassageFilter(start=START + timedelta(days=3))
    assert stored.found("ships", from_then, limit=2) == ["s3", "s4"]
    until_then = PassageFilter(end=START + timedelta(days=1))
    assert stored.found("ships", until_then) == ["s0"]
    both = PassageFilter(["s1", "s2", "s3"], START + timedelta(days=2), START + timedelta(days=3))
    assert (stored.found("ships", both), stored.near("ships", both).pending) == (["s2"], 0)
    stored.put("late", "ships", day=9)
    assert (stored.near("ships", both).pending, stored.near("ships", from_then).pending) == (0, 1)


def test_live_messages_join_the_last_passage_and_only_what_is_new_is_pending(stored: Stored) -> None:
    stored.put("a", "ships", "bread")
    stored.embed()
    last = stored.passages.lasts(stored.collection, ["a"]).get("a")
    assert last is not None
    assert (last.number, last.text.strip()) == (1, "bread")
    assert stored.passages.lasts(stored.collection, ["none"]) == {}
    said = [SpokenText(2, "=2", "and soup", START), SpokenText(3, "=3", f"{'rope':<300}", START)]
    grown = cut_passages(said, after=last)
    stored.passages.grow(stored.collection, [CutSession("a", grown)])
    assert [text.split()[0] for _, text in stored.pending()] == ["bread", "rope"]
    assert stored.passages.lasts(stored.collection, ["a"]).get("a") == grown[-1]
    assert stored.found("ships") == ["a"]


def test_collections_are_apart_and_a_zero_vector_is_near_to_nothing(stored: Stored) -> None:
    other = Stored(stored.store, stored.passages, stored.vectors, f"{stored.collection}-other")
    other.put("theirs", "ships")
    other.embed()
    stored.put("own", "ships")
    (passage,) = stored.vectors.pending(stored.collection, model=MODEL, limit=9)
    stored.vectors.fill(stored.collection, {passage: np.zeros(DIMENSIONS, np.float32)}, model=MODEL)
    assert [(near.session_id, near.cosine) for near in stored.near("ships").sessions] == [("own", 0.0)]
    assert other.found("ships") == ["theirs"]


@pytest.fixture
def pool(database_url: str) -> Iterator[Pool]:
    with open_pool(database_url, max_size=4) as opened:
        yield opened


def test_a_large_collection_is_searched_by_index_and_a_narrow_filter_is_not(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "LARGE_ROWS", 20)
    monkeypatch.setattr(postgres_passages, "EXACT_SESSIONS", 2)
    passages, vectors = passages_in(pool)
    stored = Stored(Store(PostgresConversations(pool), PostgresRanks(pool)), passages, vectors, f"c{uuid4().hex}")
    for number in range(30):
        stored.put(f"s{number:02}", f"ships {'soup ' * number}")
    stored.embed()
    exact = stored.near("ships", limit=3)
    assert vectors.index_if_large(stored.collection, model=MODEL, dimensions=DIMENSIONS)
    assert not vectors.index_if_large(stored.collection, model=MODEL, dimensions=DIMENSIONS)
    by_index = stored.near("ships", limit=3)
    assert (exact.exact, by_index.exact) == (True, False)
    assert [near.session_id for near in by_index.sessions] == [near.session_id for near in exact.sessions]
    assert stored.near("ships", PassageFilter(["s07"]), limit=3).exact
    wide = stored.near("ships", PassageFilter([f"s{number:02}" for number in range(10, 30)]), limit=3)
    assert ([near.session_id for near in wide.sessions], wide.exact) == (["s10", "s11", "s12"], False)
    assert stored.near("ships", limit=99).exact, "the index has fewer sessions than are wanted"
    vectors.drop_index(stored.collection, model=MODEL)
    assert stored.near("ships", limit=3).exact


def test_a_session_takes_its_passages_along(pool: Pool, database: psycopg.Connection) -> None:
    passages, vectors = passages_in(pool)
    stored = Stored(Store(PostgresConversations(pool), PostgresRanks(pool)), passages, vectors, f"c{uuid4().hex}")
    stored.put("a", "ships")
    stored.embed()
    assert held(database, stored.collection) == [1, 1]
    stored.store.conversations.drop(stored.collection, "a")
    assert held(database, stored.collection) == [0, 0]


def held(database: psycopg.Connection, collection: str) -> list[int]:
    """Count the passages and vectors of a collection."""
    counted = []
    with database.transaction():
        see(database, collection)
        for table in ("conversation_passages", "conversation_vectors"):
            rows = database.execute(f"SELECT FROM {table} WHERE collection = %s", [collection]).fetchall()
            counted.append(len(rows))
    return counted
