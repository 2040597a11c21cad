"""Sessions, listed, filtered, exported and dropped: in memory and on PostgreSQL."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from querymill_shared.contracts.conversations.ranks import RecomputeRanks
from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.documents.ports import Documents
from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.conversations.ports.passages import Passages
from querymill_workers.retrievers.conversations.ports.sessions import SPACE, Conversations
from querymill_workers.retrievers.conversations.rules.reference_search import ReferenceSearch
from querymill_workers.retrievers.conversations.stores.documents import ConversationDocuments
from querymill_workers.retrievers.conversations.stores.memory_passages import MemoryPassages
from querymill_workers.retrievers.conversations.stores.postgres import PostgresConversations
from querymill_workers.retrievers.conversations.stores.postgres_ranks import PostgresRanks
from querymill_workers.retrievers.conversations.write.derived import cut_session, entries_of, prepare_session
from querymill_workers.vectors.ports import Vectors
from querymill_workers.words.memory import MemoryWords
from querymill_workers.words.ports import Words
from querymill_workers.words.postgres import PostgresWords
from tests.fixtures.boards import new_board
from tests.fixtures.conversations import VOCABULARY, Store, memory_store, settle
from tests.fixtures.document_suite import LATER, DocumentSuite
from tests.fixtures.passages import passages_in


class Stored(ConversationDocuments):
    """The documents, with the stores that they were put into."""

    store: Store

    def __init__(self, store: Store, words: Words, passages: Passages, vectors: Vectors) -> None:
        board, all_vectors = new_board(), {vectors.retriever: vectors}
        super().__init__(store.conversations, passages, all_vectors, words, store.ranks, board, VOCABULARY)
        object.__setattr__(self, "store", store)

    def put(self, collection: str, line: Mapping[str, Any]) -> None:
        prepared = prepare_session(ChatSession.model_validate(line), VOCABULARY)
        self.words.put(collection, SPACE, entries_of(prepared.session))
        self.store.put(collection, prepared)
        self.conversation_passages.put(collection, [cut_session(prepared.session)])


@pytest.fixture(params=["memory", "postgres"])
def stored(request: pytest.FixtureRequest) -> Iterator[Stored]:
    if request.param == "memory":
        passages = MemoryPassages()
        yield Stored(memory_store(), MemoryWords(), passages, passages.vectors)
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool:
        store = Store(PostgresConversations(pool), PostgresRanks(pool))
        yield Stored(store, PostgresWords(pool), *passages_in(pool))


def line(number: int, **fields: Any) -> dict[str, Any]:
    """A session of two messages, the second of them a day later for each number."""
    return {
        "session_id": f"s{number}", "name": f"Session {number}", "started_at": "2026-01-01T10:00:00Z",
        "messages": [
            {"message_id": "a", "role": "user", "text": f"ships {number}"},
            {"message_id": "b", "role": "assistant", "text": "nine", "created_at": f"2026-01-0{number + 1}T12:00:00Z"},
        ],
        **fields,
    }  # fmt: skip


class TestConversationDocuments(DocumentSuite):
    """The suite of all kinds, on sessions."""

    @pytest.fixture
    def documents(self, stored: Stored) -> Documents:
        return stored

    def document(self, number: int, **metadata: Any) -> Mapping[str, Any]:
        return line(number, **metadata)

    def id_of(self, document: Mapping[str, Any]) -> str:
        return str(document["session_id"])

    def put(self, documents: Documents, collection: str, found: Sequence[Mapping[str, Any]]) -> None:
        assert isinstance(documents, Stored)
        for each in found:
            documents.put(collection, each)


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({}, ["s0", "s1", "s2"]),
        ({"user_name": "Ada"}, ["s0", "s2"]),
        ({"user_name": None}, ["s1"]),
        ({"role": "system"}, ["s2"]),
        ({"role": ["assistant", "system"]}, ["s0", "s1", "s2"]),
        ({"session_id": {"prefix": "s"}, "user_name": {"from": "Ada", "to": "Bea"}}, ["s0", "s2"]),
        ({"time": {"from": "2026-01-02", "to": "2026-01-02"}}, ["s1"]),
        ({"time": {"from": "2026-01-02"}}, ["s1", "s2"]),
        ({"tags": "x"}, ["s0", "s2"]),
        ({"tags": ["y", "z"], "user_name": "Ada"}, ["s0"]),
        ({"size": {"from": 2, "to": 3}}, ["s1", "s2"]),
        ({"size": 1, "tags": "y"}, ["s0"]),
        ({"nothing": "x"}, []),
    ],
)  # fmt: skip
def test_a_filter_lets_the_same_sessions_through_everywhere(
    stored: Stored, collection: str, conditions: dict[str, Any], expected: list[str]
) -> None:
    stored.put(collection, line(0, user_name="Ada", tags=["x", "y"], size=1))
    stored.put(collection, line(1, tags=["z"], size=2))
    last = line(2, user_name="Ada", tags="x", size=3)
    stored.put(collection, last | {"messages": [*last["messages"], {"role": "system", "text": "soup"}]})
    conversations: Conversations = stored.store.conversations
    assert conversations.passing(collection, conditions) == expected
    assert [card.id for card in stored.list(collection, conditions, limit=9, after=None)] == expected
    assert stored.count(collection, conditions) == len(expected)


def test_nothing_of_a_collection_is_left(stored: Stored, collection: str) -> None:
    for number in range(3):
        stored.put(collection, line(number))
    settle(stored.store, collection)
    stored.store.rebuild(collection, "r")
    before = stored.store.conversations.generation(collection)
    for number in range(3):
        stored.drop(collection, f"s{number}", LATER)
    stored.leave(collection)
    assert collection not in stored.store.conversations.collections()
    assert stored.store.ranks.waiting(collection) == 0
    assert stored.store.conversations.generation(collection) > before
    assert stored.words.search(collection, SPACE, "ships nine", limit=9) == []


@pytest.fixture
def collection() -> str:
    return f"c{uuid4().hex[:12]}"


def noted(database_url: str, collection: str) -> list[str]:
    """The sessions of whose changes something is noted."""
    with psycopg.connect(database_url) as connection:
        connection.execute("SET LOCAL querymill.across = on")
        query = "SELECT session_id FROM conversation_changes WHERE collection = %s ORDER BY 1"
        return [session_id for (session_id,) in connection.execute(query, [collection])]


@pytest.mark.parametrize("stored", ["postgres"], indirect=True)
def test_nothing_is_noted_of_a_dropped_session_once_the_ranks_have_followed(stored: Stored, database_url: str) -> None:
    collection = f"c{uuid4().hex[:12]}"
    for number in range(3):
        stored.put(collection, line(number))
    settle(stored.store, collection)
    stored.drop(collection, "s1", LATER)
    assert noted(database_url, collection) == ["s0", "s1", "s2"]
    settle(stored.store, collection)
    assert noted(database_url, collection) == ["s0", "s2"]


@pytest.mark.parametrize("stored", ["postgres"], indirect=True)
def test_a_rebuild_that_read_a_session_before_it_was_dropped_leaves_nothing_of_it(
    stored: Stored, database_url: str
) -> None:
    collection = f"c{uuid4().hex[:12]}"
    for number in range(2):
        stored.put(collection, line(number))
    settle(stored.store, collection)
    ranks = stored.store.ranks
    ranks.begin(collection, "slow", mode="count")
    table = ranks.table(collection)
    stored.drop(collection, "s1", LATER)
    settle(stored.store, collection)
    assert noted(database_url, collection) == ["s0", "s1"], "the rebuild must have it wait again"
    ranks.draft(collection, "slow", 0, ReferenceSearch(table).find(table.part(0, parts=1)), table)
    assert ranks.publish(collection, "slow", parts=1) is not None
    settle(stored.store, collection)
    assert noted(database_url, collection) == ["s0"]


def test_the_ranks_are_asked_to_follow_a_drop(stored: Stored) -> None:
    collection = f"c{uuid4().hex[:12]}"
    for number in range(3):
        stored.put(collection, line(number))
    for each in ("s0", "s1", "unknown"):
        stored.drop(collection, each, LATER)
    (asked,) = [stored.board.picture(job_id).request for job_id in stored.board.recent()]
    assert isinstance(asked, RecomputeRanks)
    assert (asked.collection, asked.scope) == (collection, "changed")
