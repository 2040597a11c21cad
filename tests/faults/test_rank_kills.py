"""A rebuild of ranks whose workers are killed: it goes on where it was, and what it puts in force is right."""

import random
import time
from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pytest

from querymill import Querymill, RecomputeRanks
from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.conversations.stores.postgres import PostgresConversations
from querymill_workers.retrievers.conversations.stores.postgres_ranks import PostgresRanks
from tests.fakes.worker import WorkerProcess
from tests.fixtures.conversations import Store, draft, expected, settle
from tests.fixtures.deployment import Deployment
from tests.fixtures.faults import stepping_aside

SESSIONS = 300
WORDS = [f"subject{chr(97 + first)}{chr(97 + second)}" for first in range(6) for second in range(6)]


@pytest.fixture
def victim(deployment: Deployment, worker: WorkerProcess) -> Iterator[WorkerProcess]:
    """A worker to kill, as `querymill up` starts one for ranks; the one of the other tests steps aside."""
    with stepping_aside(worker, deployment.environment, queues="ranks", threads=1) as process:
        yield process


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    with open_pool(database_url, max_size=4) as pool:
        yield Store(PostgresConversations(pool), PostgresRanks(pool))


@pytest.mark.nightly
def test_a_rebuild_survives_the_death_of_its_workers(victim: WorkerProcess, mill: Querymill, store: Store) -> None:
    collection, chosen = f"talks-{uuid4().hex[:12]}", random.Random(5)
    drafts = [draft(f"s{n:03}", " ".join(chosen.sample(WORDS, 12)), day=n / 24) for n in range(SESSIONS)]
    for one in drafts:
        # As other rules found them: nothing of it may be left when the rebuild is done.
        store.put(collection, replace(one, facts=replace(one.facts, key_phrases=frozenset()), facts_version="older"))
    settle(store, collection)
    ids = [one.facts.session_id for one in drafts]
    assert store.stored_ranks(collection, ids)[0] == set()
    rebuild = mill.submit(RecomputeRanks(collection=collection, parts=3))
    for _ in range(2):
        time.sleep(0.4)
        victim.kill()
        victim.start()
    result = rebuild.result(60)
    assert (result.total, result.references > 0) == (SESSIONS, True)
    assert store.stored_ranks(collection, ids) == expected(one.facts for one in drafts)
