"""Loading whose worker and whose command line are killed half way: nothing lost, nothing doubled, the newest stands."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from querymill_shared.contracts.filters import Retriever
from tests.fakes.openai_server import Answer, OpenAIServer, embedded
from tests.fakes.worker import WorkerProcess
from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import Deployment
from tests.fixtures.faults import stepping_aside
from tests.fixtures.loading import LOADED, sorted_lines, write_lines
from tests.fixtures.tallies import until
from tests.fixtures.words import count_words, see

DOCUMENTS = 399


@pytest.fixture
def victim(deployment: Deployment, worker: WorkerProcess) -> Iterator[WorkerProcess]:
    """A worker to kill; the one of the other tests steps aside."""
    with stepping_aside(worker, deployment.environment, queues="search,ingest,embed", threads=2) as process:
        yield process


def ingest(querymill: CommandLine, kind: Retriever, path: Path, collection: str) -> None:
    """Run the command to its end."""
    assert querymill.begin("ingest", kind, path, "--collection", collection).wait(timeout=240) == 0


def written(database: psycopg.Connection, collection: str) -> int:
    """Count the documents whose write is committed."""
    return count(database, "SELECT count(written_us) FROM document_versions WHERE collection = %s", collection)


def count(database: psycopg.Connection, statement: str, collection: str) -> int:
    with database.transaction():
        see(database, collection)
        row = database.execute(statement, [collection]).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.timeout(600)
@pytest.mark.nightly
@pytest.mark.parametrize("kind", LOADED)
def test_documents_whose_loading_is_killed_are_stored_once_in_their_newest_version(
    kind: Retriever,
    querymill: CommandLine,
    victim: WorkerProcess,
    openai_server: OpenAIServer,
    database: psycopg.Connection,
    tmp_path: Path,
) -> None:
    openai_server.script.embeddings = lambda request: Answer(embedded(request).body, after_s=0.05)
    killed, whole = (f"{name}{uuid4().hex[:8]}" for name in ("killed", "whole"))
    first = {f"d{number}": "herring" for number in range(DOCUMENTS)}
    newest = first | {f"d{number}": "walrus" for number in range(0, DOCUMENTS, 3)}
    before = write_lines(tmp_path / "first.jsonl", kind, first)
    after = write_lines(tmp_path / "newest.jsonl", kind, newest)

    running = querymill.begin("ingest", kind, before, "--collection", killed)
    until(lambda: written(database, killed) > 0, within_s=90)
    victim.kill()
    stored = written(database, killed)
    assert 0 < stored < DOCUMENTS
    running.kill()
    running.wait()
    victim.start()
    # Jobs of the first version are still on the board, and a later attempt of each may come after the newest.
    running = querymill.begin("ingest", kind, after, "--collection", killed)
    until(lambda: written(database, killed) > stored, within_s=90)
    victim.kill()
    victim.start()
    assert running.wait(timeout=240) == 0
    ingest(querymill, kind, after, whole)

    exports = [querymill("export", kind, "--collection", name).stdout for name in (killed, whole)]
    assert len(exports[1].splitlines()) == DOCUMENTS
    assert exports[1].count("walrus") == DOCUMENTS // 3
    assert sorted_lines(exports[0]) == sorted_lines(exports[1])
    assert count_words(database, killed) == count_words(database, whole)
    if kind == "messages":
        waiting = "SELECT count(*) FROM chat_passages WHERE collection = %s AND waiting"
        until(lambda: count(database, waiting, killed) == 0, within_s=90)
