"""A session's rows and its words are two stores: whoever changes it, and however many at once, they agree."""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from uuid import uuid4

import psycopg
import pytest

from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.contracts.sessions import ChatSession
from querymill_shared.counters import FleetCounters
from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.messages.ingest import prepare_session
from querymill_workers.retrievers.messages.ports import NEIGHBOURS, SPACES
from querymill_workers.retrievers.messages.rules.neighbours import entries_of
from querymill_workers.retrievers.messages.stores.postgres_sessions import PostgresSessions
from querymill_workers.stores import documents_in, vectors_in, with_bodies
from querymill_workers.text.words import words
from querymill_workers.versions.postgres import PostgresVersions
from querymill_workers.words.postgres import PostgresWords
from tests.fixtures.chats import messages_in, session
from tests.fixtures.short_forms import named_at_night
from tests.fixtures.words import SlowWords, spelled
from tests.fixtures.world import World, world

__all__ = ["world"]

TEXTS = ("ships at sea", "soup of herons", "rope and mast", "a weir", "the crew sings", "a harbour", "a lamp", "oars")


@pytest.fixture
def stored(world: World, database_url: str) -> Iterator[World]:
    """The world with the stores of PostgreSQL."""
    with open_pool(database_url, max_size=16) as pool:
        world.with_ports(
            messages=messages_in(pool),
            sessions=PostgresSessions(pool),
            words=SlowWords(pool),
            versions=PostgresVersions(pool),
            vectors=vectors_in(pool, FleetCounters(None)),
            documents=documents_in(pool),
        )
        world.ports = with_bodies(world.ports)
        yield world


def expected(world: World, collection: str) -> dict[str, Counter[str]]:
    sessions, documents = world.ports.sessions, world.ports.documents["messages"]
    return {
        text.text_id: Counter(words(text.content))
        for session_id in documents.ids(collection, {})
        for text in sessions.texts(collection, session_id)
    }


def expected_neighbours(world: World, collection: str) -> dict[str, Counter[str]]:
    """Return the entries with neighbours that all messages have if their sessions are indexed from scratch."""
    sessions = world.ports.sessions
    prepared = [
        prepare_session(ChatSession.model_validate(whole))
        for whole in sessions.whole(collection, world.ports.documents["messages"].ids(collection, {})).values()
    ]
    return {
        entry.id: Counter(entry.counts)
        for each in prepared
        for entry in entries_of(each.session.session_id, each.messages, words)
    }


def ingest(collection: str, *texts: str, speakers: Sequence[str] = ("Ada",)) -> IngestMessages:
    """Have a session ingested whose messages are by the speakers in turn."""
    given = session("s", *texts).model_dump(mode="json")
    for place, message in enumerate(given["messages"]):
        message["user_name"] = speakers[place % len(speakers)]
    return IngestMessages(collection=collection, documents=(ChatSession.model_validate(given),))


#: Five states of a session that share texts, some of them by more than two speakers.
CHANGED = [(TEXTS[n : n + 3 + n % 2], ("Ada", "Bob", "Cy")[: 1 + n % 3]) for n in range(5)]
#: Five states of a session that grows: what is new changes the entries of the messages just before it.
GROWN = [(TEXTS[: n + 2], ("Ada", "Bob")) for n in range(5)]


def at_once(world: World, *requests: JobRequest) -> None:
    """Run jobs at once, and wait until all have ended."""
    threads = [threading.Thread(target=world.run, args=(request,)) for request in requests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize(
    ("states", "forgets"),
    named_at_night(
        {
            "changed-True": (CHANGED, True), "changed-False": (CHANGED, False),
            "grown-True": (GROWN, True), "grown-False": (GROWN, False),
        },
        short=["changed-False", "grown-True"],
    ),
)  # fmt: skip
def test_several_who_change_a_session_at_once_leave_the_words_of_its_rows_and_of_their_neighbours(
    stored: World, database: psycopg.Connection, states: Sequence[tuple[Sequence[str], Sequence[str]]], *, forgets: bool
) -> None:
    for _ in range(2):
        collection = f"c{uuid4().hex}"
        forgetting = [DropDocuments(collection=collection, retriever="messages", ids=("s",))] if forgets else []
        requests = [ingest(collection, *texts, speakers=speakers) for texts, speakers in states]
        at_once(stored, *requests, *forgetting)
        assert spelled(database, collection, *SPACES.values()) == expected(stored, collection)
        assert spelled(database, collection, NEIGHBOURS) == expected_neighbours(stored, collection)
        assert forgets or expected_neighbours(stored, collection)


def test_more_sessions_at_once_than_connections_still_all_get_in(stored: World, database_url: str) -> None:
    collection = f"c{uuid4().hex}"
    with open_pool(database_url, max_size=8) as pool:
        stored.with_ports(
            sessions=PostgresSessions(pool),
            words=PostgresWords(pool),
            versions=PostgresVersions(pool),
            vectors=vectors_in(pool, FleetCounters(None)),
            documents=documents_in(pool),
        )
        requests = [IngestMessages(collection=collection, documents=(session(f"s{n}", *TEXTS),)) for n in range(24)]
        threads = [threading.Thread(target=stored.run, args=(request,)) for request in requests]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert stored.ports.documents["messages"].count(collection, {}) == 24
