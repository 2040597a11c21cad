"""A code base whose worker is killed while it takes files in and while it embeds: nothing lost, nothing doubled."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from querymill_shared.counters import FleetCounters
from querymill_workers.postgres.connection import Pool, open_pool
from querymill_workers.retrievers.files.stores.postgres import PostgresFiles
from querymill_workers.stores import vectors_in
from querymill_workers.vectors.ports import Vectors
from tests.fakes.openai_server import Answer, OpenAIServer, embedded
from tests.fakes.worker import WorkerProcess
from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import Deployment
from tests.fixtures.faults import stepping_aside
from tests.fixtures.tallies import until
from tests.fixtures.words import count_words

FILES = 200
MODEL = "multilingual-e5-small"


@pytest.fixture
def victim(deployment: Deployment, worker: WorkerProcess) -> Iterator[WorkerProcess]:
    """A worker to kill; the one of the other tests steps aside."""
    with stepping_aside(worker, deployment.environment, queues="ingest,embed", threads=2) as process:
        yield process


@pytest.fixture
def pool(database_url: str) -> Iterator[Pool]:
    with open_pool(database_url, max_size=2) as opened:
        yield opened


@pytest.fixture
def files(pool: Pool) -> PostgresFiles:
    return PostgresFiles(pool)


@pytest.fixture
def vectors(pool: Pool) -> Vectors:
    return vectors_in(pool, FleetCounters(None))["files"]


@pytest.mark.nightly
def test_a_code_base_killed_half_way_is_taken_in_whole(
    querymill: CommandLine,
    victim: WorkerProcess,
    openai_server: OpenAIServer,
    files: PostgresFiles,
    vectors: Vectors,
    database: psycopg.Connection,
    tmp_path: Path,
) -> None:
    openai_server.script.embeddings = lambda request: Answer(embedded(request).body, after_s=0.2)
    collection = run = f"c{uuid4().hex[:8]}"
    for number in range(FILES):
        (tmp_path / f"f{number}.py").write_text(f"def {run}_{number}():\n    call_{number}()\n")
    command = ("ingest", "files", tmp_path, "--collection", collection, "--vectors", "--json")
    running = querymill.begin(*command)
    until(lambda: files.counts(collection).files > 0, within_s=90)
    victim.kill()
    running.kill()
    running.wait()
    victim.start()
    said = json.loads(querymill(*command).stdout)
    assert (said["failed"], said["removed"]) == ([], [])
    assert said["ingested"] + said["unchanged"] == FILES
    until(lambda: vectors.counts(collection, model=MODEL).pending < FILES, within_s=90)
    victim.kill()
    victim.start()
    until(lambda: vectors.counts(collection, model=MODEL).pending == 0, within_s=90)

    assert files.counts(collection).files == vectors.counts(collection, model=MODEL).passages == FILES
    names = [f"{run}_{number}" for number in range(FILES)]
    assert Counter(
        found.symbol.name for found in files.named(collection, names, roles=["definition"], limit=9)
    ) == dict.fromkeys(names, 1)
    assert count_words(database, collection) == {"files": FILES}
    asked = Counter(text for request in openai_server.seen("embeddings") for text in request["input"])
    assert len(asked) == FILES
    assert max(asked.values()) <= 1 + 2
