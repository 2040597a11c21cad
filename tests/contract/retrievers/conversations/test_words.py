"""A conversation's rows and its words change together: by several writers at once, or by one that is killed."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from uuid import uuid4

import psycopg
import pytest

from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.ingest import Extend
from querymill_shared.contracts.jobs import JobRequest
from querymill_workers.jobs.faults import Conflict, Unavailable
from querymill_workers.postgres import connection
from querymill_workers.postgres.connection import Pool, lent, open_pool
from querymill_workers.retrievers.conversations.ports.sessions import KIND, SPACE
from querymill_workers.retrievers.conversations.stores.postgres import PostgresConversations
from querymill_workers.retrievers.conversations.stores.postgres_ranks import PostgresRanks
from querymill_workers.retrievers.conversations.write.derived import entries_of
from querymill_workers.stores import documents_in, with_bodies
from querymill_workers.text.words import words
from querymill_workers.versions.ports import Version, WrittenDocument
from querymill_workers.versions.postgres import PostgresVersions
from tests.fixtures.chats import session
from tests.fixtures.conversations import draft
from tests.fixtures.passages import passages_in
from tests.fixtures.words import SlowWords, spelled
from tests.fixtures.world import World, world

__all__ = ["world"]


@pytest.fixture
def pool(database_url: str) -> Iterator[Pool]:
    with open_pool(database_url, max_size=12, timeout_s=2) as opened:
        yield opened


@pytest.fixture
def processes(world: World, database_url: str) -> Iterator[list[World]]:
    """Two processes that serve one board: each has a pool of its own."""
    with ExitStack() as opened:
        pools = [opened.enter_context(open_pool(database_url, max_size=8)) for _ in range(2)]
        yield [
            replace(
                world,
                ports=with_bodies(
                    replace(
                        world.ports,
                        conversations=PostgresConversations(pool),
                        documents=documents_in(pool),
                        conversation_passages=passages_in(pool)[0],
                        vectors={**world.ports.vectors, "conversations": passages_in(pool)[1]},
                        ranks=PostgresRanks(pool),
                        words=SlowWords(pool),
                        versions=PostgresVersions(pool),
                    )
                ),
            )
            for pool in pools
        ]


def update(collection: str, number: int) -> Extend:
    message = {"message_id": f"u{number}", "text": f"update{number} soup", "created_at": "2026-01-01T10:00:00Z"}
    return Extend.model_validate({
        "collection": collection, "retriever": "conversations", "documents": [{"session_id": "s", "messages": [message]}
    ]})  # fmt: skip


def at_once(processes: list[World], requests: list[JobRequest]) -> None:
    """Do all of it at once, each with a single attempt."""
    with ThreadPoolExecutor(len(requests)) as threads:
        jobs = [threads.submit(processes[n % 2].run, request) for n, request in enumerate(requests)]
    for job in jobs:
        processes[0].result(job.result())


def expected(process: World, collection: str) -> dict[str, Counter[str]]:
    known = process.ports.conversations.stored(collection, "s")
    return {} if known is None else {entry.id: Counter(words(entry.text)) for entry in entries_of(known.session)}


def test_updates_at_once_are_all_stored_and_found_at_their_first_attempt(
    processes: list[World], database: psycopg.Connection, collection: str
) -> None:
    at_once(processes, [update(collection, number) for number in range(16)])
    known = processes[0].ports.conversations.stored(collection, "s")
    assert known is not None
    assert {message.message_id for message in known.session.messages} == {f"u{number}" for number in range(16)}
    assert spelled(database, collection) == expected(processes[0], collection)
    # Each was a change that ranks wait for.
    assert processes[0].ports.conversations.generation(collection) == 16
    assert processes[0].ports.ranks.waiting(collection) == 1


def test_whole_sessions_updates_and_drops_at_once_leave_the_words_of_the_rows(
    processes: list[World], database: psycopg.Connection
) -> None:
    for _ in range(3):
        collection = f"c{uuid4().hex}"
        wholes = [
            IngestConversations(
                collection=collection, documents=(session("s", *[f"whole{number} rope"] * (number + 1)),)
            )
            for number in range(4)
        ]
        drops = [DropDocuments(collection=collection, retriever="conversations", ids=("s",))] * 2
        updates = [update(collection, number) for number in range(6)]
        at_once(processes, [*wholes[:2], *updates[:3], *drops, *wholes[2:], *updates[3:]])
        assert spelled(database, collection) == expected(processes[0], collection)


def test_words_and_rows_are_committed_together_or_not_at_all(pool: Pool, collection: str) -> None:
    versions, store, postings, made = (
        PostgresVersions(pool),
        PostgresConversations(pool),
        SlowWords(pool),
        draft("s", "nine ships"),
    )

    def change() -> None:
        with alone(versions, collection):
            postings.put(collection, SPACE, entries_of(made.session))
            store.put(collection, made, replacing=None)
            raise Unavailable("killed")

    with pytest.raises(Unavailable, match="killed"):
        change()
    assert (store.stored(collection, "s"), postings.search(collection, SPACE, "ships", limit=1)) == (None, [])
    with alone(versions, collection):
        postings.put(collection, SPACE, entries_of(made.session))
        with ThreadPoolExecutor(1) as other:
            assert other.submit(postings.search, collection, SPACE, "ships", limit=1).result() == []
        store.put(collection, made, replacing=None)
    assert [hit.id for hit in postings.search(collection, SPACE, "ships", limit=1)] == ["s"]


def test_a_writer_who_waits_too_long_comes_again_later(
    pool: Pool, collection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "CONTENDED_MS", 300)
    versions = PostgresVersions(pool)

    def change() -> object:
        with alone(versions, collection), lent(pool) as joined:
            return joined.execute("SHOW lock_timeout").fetchone()

    with ThreadPoolExecutor(1) as other:
        with alone(versions, collection):
            until_free = other.submit(change)
            with pytest.raises(Conflict, match="LockNotAvailable"):
                until_free.result(5)
        assert other.submit(change).result(5) == ("10s",)


def test_many_who_wait_leave_connections_to_others(pool: Pool, collection: str) -> None:
    versions, store = PostgresVersions(pool), PostgresConversations(pool)

    def wait() -> None:
        with alone(versions, collection):
            pass

    with ThreadPoolExecutor(24) as others:
        with alone(versions, collection):
            waiting = [others.submit(wait) for _ in range(24)]
            until_somebody_waits(pool)
            with ThreadPoolExecutor(1) as reader:
                assert reader.submit(store.generation, collection).result(5) == 0
        for one in waiting:
            one.result(5)


def test_a_writer_that_is_frozen_loses_the_session_to_those_who_wait(pool: Pool, collection: str) -> None:
    versions, store = PostgresVersions(pool), PostgresConversations(pool)

    holds, thaw = threading.Event(), threading.Event()

    def freeze() -> None:
        with alone(versions, collection):
            with lent(pool) as joined:
                joined.execute("SET LOCAL idle_in_transaction_session_timeout = 300")
            holds.set()
            thaw.wait(10)
            store.put(collection, draft("s", "too late"), replacing=None)

    with ThreadPoolExecutor(1) as other:
        frozen = other.submit(freeze)
        holds.wait(5)
        with alone(versions, collection):
            store.put(collection, draft("s", "in time"), replacing=None)
        thaw.set()
        with pytest.raises(Unavailable, match="IdleInTransaction"):
            frozen.result(5)
    known = store.stored(collection, "s")
    assert known is not None
    assert [message.text for message in known.session.messages] == ["in time"]


def alone(versions: PostgresVersions, collection: str) -> AbstractContextManager[object]:
    """Hold a session as its writers do."""
    return versions.changing(collection, KIND, [WrittenDocument("s")], Version(1, "a job"), whole=False)


def until_somebody_waits(pool: Pool) -> None:
    """Wait until a writer waits for a session that another one holds."""
    waits = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    deadline = time.monotonic() + 10
    with ThreadPoolExecutor(1) as other:

        def waiting() -> bool:
            with lent(pool) as connection:
                return connection.execute(waits).fetchone() is not None

        while not other.submit(waiting).result():
            assert time.monotonic() < deadline
            time.sleep(0.01)
