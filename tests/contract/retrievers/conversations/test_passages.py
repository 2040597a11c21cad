"""Long sessions in PostgreSQL: their passages follow live messages."""

from collections import Counter
from collections.abc import Iterator

import psycopg
import pytest

from querymill_shared.contracts.conversations.search import ConversationResult, ConversationSearch
from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.ingest import Extend
from querymill_workers.postgres.connection import Pool, open_pool
from querymill_workers.retrievers.conversations.stores.postgres import PostgresConversations
from querymill_workers.retrievers.conversations.stores.postgres_ranks import PostgresRanks
from querymill_workers.retrievers.conversations.write.derived import cut_session, entries_of
from querymill_workers.stores import documents_in, with_bodies
from querymill_workers.text.words import words
from querymill_workers.versions.postgres import PostgresVersions
from querymill_workers.words.postgres import PostgresWords
from tests.fixtures.passages import passages_in
from tests.fixtures.words import see, spelled
from tests.fixtures.world import World, world

__all__ = ["world"]

LONG = [f"{'lorem ' * 500} {word}" for word in ("ships", "soup", "rope")]


@pytest.fixture
def pool(database_url: str) -> Iterator[Pool]:
    with open_pool(database_url, max_size=4) as opened:
        yield opened


@pytest.fixture
def served(world: World, pool: Pool) -> World:
    passages, vectors = passages_in(pool)
    world.with_ports(
        vectors={**world.ports.vectors, "conversations": vectors},
        conversations=PostgresConversations(pool), ranks=PostgresRanks(pool), words=PostgresWords(pool),
        versions=PostgresVersions(pool), conversation_passages=passages, documents=documents_in(pool),
    )  # fmt: skip
    world.ports = with_bodies(world.ports)
    return world


def indexed(database: psycopg.Connection, collection: str) -> dict[str, Counter[str]]:
    return spelled(database, collection)


def as_stored(served: World, collection: str) -> dict[str, Counter[str]]:
    known = served.ports.conversations.stored(collection, "s")
    return {} if known is None else {entry.id: Counter(words(entry.text)) for entry in entries_of(known.session)}


def embedded(database: psycopg.Connection, collection: str) -> list[str]:
    """List the texts of the stored passages that have a vector."""
    with database.transaction():
        see(database, collection)
        rows = database.execute(
            "SELECT p.text FROM conversation_passages AS p"
            " JOIN conversation_vectors AS v USING (collection, session_id, key)"
            " WHERE collection = %s ORDER BY p.number",
            [collection],
        ).fetchall()
    return [text for (text,) in rows]


def cut_as_stored(served: World, collection: str) -> list[str]:
    known = served.ports.conversations.stored(collection, "s")
    return [] if known is None else [each.text for each in cut_session(known.session).passages]


def ids(served: World, collection: str, query: str) -> list[str]:
    result = served.result(served.run(ConversationSearch(collection=collection, query=query)))
    assert isinstance(result, ConversationResult)
    return [hit.session_id for hit in result.results]


def test_live_messages_fill_the_last_passage_and_begin_others(
    served: World, database: psycopg.Connection, collection: str
) -> None:
    for number in range(9):
        said = {"message_id": f"m{number}", "text": f"{'lorem ' * 190} word{number}"}
        update = {"session_id": "s", "name": "Gamma", "messages": [said]}
        served.run(
            Extend.model_validate({"collection": collection, "retriever": "conversations", "documents": [update]})
        )
    expected = as_stored(served, collection)
    assert (len(expected), indexed(database, collection)) == (5, expected)
    assert embedded(database, collection) == cut_as_stored(served, collection)
    assert len(embedded(database, collection)) > 9
    assert ids(served, collection, "word8") == ids(served, collection, "Gamma") == ["s"]
    served.run(DropDocuments(collection=collection, retriever="conversations", ids=("s",)))
    assert indexed(database, collection) == {}
