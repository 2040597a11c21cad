"""Chat sessions, listed, exported and dropped: in memory and in PostgreSQL."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from querymill_shared.contracts.sessions import ChatSession
from querymill_shared.counters import Meters
from querymill_workers.documents.ports import Documents
from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.messages.ingest import prepare_session, word_units_of
from querymill_workers.retrievers.messages.ports import SPACES
from querymill_workers.retrievers.messages.stores.documents import SessionDocuments
from querymill_workers.retrievers.messages.stores.memory_sessions import MemorySessions
from querymill_workers.retrievers.messages.stores.postgres_sessions import PostgresSessions
from querymill_workers.stores import vectors_in
from querymill_workers.vectors.ports import Refused
from querymill_workers.words.memory import MemoryWords
from querymill_workers.words.postgres import PostgresWords
from tests.fixtures.document_suite import LATER, DocumentSuite

AT = "2026-01-01T10:00:00Z"


@pytest.fixture(params=["memory", "postgres"])
def stored(request: pytest.FixtureRequest) -> Iterator[SessionDocuments]:
    if request.param == "memory":
        sessions = MemorySessions()
        yield SessionDocuments(sessions, {"messages": sessions.vectors}, MemoryWords())
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool:
        yield SessionDocuments(PostgresSessions(pool), vectors_in(pool, Meters(None)), PostgresWords(pool))


def put(stored: SessionDocuments, collection: str, *sessions: Mapping[str, Any]) -> None:
    stored.vectors["messages"].active_model(collection, first="words")
    for given in sessions:
        prepared = prepare_session(ChatSession.model_validate(given))
        changed = stored.sessions.put(collection, [prepared])
        for text in changed[prepared.session.session_id].added:
            stored.words.put(collection, SPACES[text.vector_type], word_units_of(given["session_id"], [text]))


class TestSessionDocuments(DocumentSuite):
    @pytest.fixture
    def documents(self, stored: SessionDocuments) -> Documents:
        return stored

    def document(self, number: int, **metadata: Any) -> Mapping[str, Any]:
        message = {"message_id": "a", "text": f"nine ships of {number}", "created_at": AT}
        return {"session_id": f"s{number}", "started_at": AT, "messages": [message], **metadata}

    def id_of(self, document: Mapping[str, Any]) -> str:
        return str(document["session_id"])

    def put(self, documents: Documents, collection: str, found: Sequence[Mapping[str, Any]]) -> None:
        assert isinstance(documents, SessionDocuments)
        put(documents, collection, *found)


ADA = {
    "session_id": "s",
    "user_name": "Ada",
    "started_at": AT,
    "mood": "calm",
    "messages": [
        {"message_id": "a", "role": "user", "text": "nine ships", "created_at": AT, "tags": ["x"]},
        {"text": "", "created_at": AT},
        {"text": " ".join(f"rope {number}" for number in range(2_000)), "created_at": AT},
    ],
}


def test_an_export_is_what_ingestion_reads_and_stores_unchanged(stored: SessionDocuments) -> None:
    collection = f"c{id(stored)}"
    put(stored, collection, ADA)
    (line,) = stored.whole(collection, ["s", "unknown"]).values()
    assert (
        prepare_session(ChatSession.model_validate(line)).revision == stored.sessions.revisions(collection, ["s"])["s"]
    )
    (card,) = stored.list(collection, {"role": "user", "mood": "calm"}, limit=9, after=None)
    assert (card.size, card.unit, card.metadata, card.pending) == (3, "messages", {"mood": "calm"}, 34)


@pytest.mark.parametrize(
    ("conditions", "count"),
    [({"user_name": "Ada"}, 1), ({"role": "assistant"}, 0), ({"time": "2026-01-01"}, 1), ({"session_id": "t"}, 0)],
)
def test_sessions_are_filtered_by_what_they_are(
    stored: SessionDocuments, conditions: dict[str, str], count: int
) -> None:
    collection = f"c{id(stored)}f"
    put(stored, collection, ADA)
    assert stored.count(collection, conditions) == count


def test_a_dropped_session_leaves_no_word_and_nothing_refused(stored: SessionDocuments) -> None:
    collection = f"c{id(stored)}d"
    put(stored, collection, ADA)
    vectors = stored.vectors["messages"]
    waiting = vectors.pending(collection, model="words", limit=9)
    vectors.fill(collection, dict.fromkeys(waiting, Refused("HTTP 400")), model="words")
    assert stored.drop(collection, "s", LATER) == 34
    assert stored.words.search(collection, "messages", "ships rope", limit=9) == []
    assert vectors.count_refused(collection) == 0
    stored.leave(collection)
    assert vectors.active_model(collection) is None
    assert collection not in stored.sessions.collections()
