"""A collection changes its embedding model, and its tokeniser: real servers, workers with other settings."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from querymill import IngestMessages, MessageResult, MessageSearch, Querymill, Reindex, ReindexResult
from querymill_shared.settings import Settings
from querymill_workers.dispatch.reindex import spaces_of
from querymill_workers.text.words import WORDS_CHANGES, WORDS_VERSION
from tests.fakes.openai_server import Answer, OpenAIServer, embedded, embedding_answer
from tests.fakes.vectors import vector_of
from tests.fakes.worker import WorkerProcess
from tests.fixtures.chats import session
from tests.fixtures.command_line import CommandLine, Run
from tests.fixtures.deployment import Deployment
from tests.fixtures.words import see

OLD, NEW = "multilingual-e5-small", "e5-newer"
#: Of the new model: a third of the old one's.
DIMENSIONS = 128


@pytest.fixture
def moved(deployment: Deployment) -> Deployment:
    """The deployment after its model was changed, on a board of its own that knows no collection yet."""
    changed = {
        "REDIS_URL": deployment.environment["REDIS_URL"].removesuffix("/2") + "/3",
        "EMBEDDING_MODEL": NEW,
        "QUERYMILL_EMBEDDING_DIMENSIONS": str(DIMENSIONS),
        "QUERYMILL_PREVIOUS_EMBEDDING_MODEL": OLD,
    }
    environment = deployment.environment | changed
    return Deployment(
        Settings.model_validate({name.lower(): value for name, value in environment.items()}), environment
    )


@pytest.fixture
def later(moved: Deployment) -> Iterator[Querymill]:
    with Querymill(settings=moved.settings) as mill:
        yield mill


def mirrored(request: dict[str, Any]) -> Answer:
    """Give the new model's vectors, shorter and in the other direction."""
    if request["model"] == OLD:
        return embedded(request)
    return embedding_answer([(-vector_of(text)[:DIMENSIONS]).tolist() for text in request["input"]], after_s=0.5)


def models_asked(server: OpenAIServer) -> set[str]:
    return {request["model"] for request in server.seen("embeddings")}


def wait_until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)


def ask(mill: Querymill, collection: str, query: str) -> MessageResult:
    """Ask by vectors alone: words would find the session whichever model made the vectors."""
    asked = MessageSearch(collection=collection, query=query, ranking="vectors", similarity_threshold=0.9)
    return mill.submit(asked).result(15)


def take_in(mill: Querymill, collection: str, *names: str) -> None:
    for name in names:
        given = session(name, f"the fleet counts ships {name}", "soup for lunch")
        stored = mill.submit(IngestMessages(collection=collection, documents=(given,))).result(20)
        mill.job(str(stored.embedding_jobs[0])).result(20)


@pytest.mark.usefixtures("worker")
def test_the_model_before_answers_until_the_new_vectors_are_complete_then_the_new_one(
    mill: Querymill, moved: Deployment, later: Querymill, openai_server: OpenAIServer
) -> None:
    collection = f"chats-{uuid4().hex[:12]}"
    take_in(mill, collection, *[f"s{number}" for number in range(12)])
    openai_server.reset()
    openai_server.script.embeddings = mirrored
    reembed = CommandLine(moved.environment)
    with WorkerProcess(moved.environment):
        runs: list[Run] = []
        command = threading.Thread(
            target=lambda: runs.append(reembed("reembed", "messages", "--collection", collection, "--json"))
        )
        command.start()
        wait_until(lambda: NEW in models_asked(openai_server))
        meanwhile = ask(later, collection, "the fleet counts ships s7")
        assert (meanwhile.mode, meanwhile.results[0].session_id, meanwhile.skipped) == ("vector", "s7", 0)
        assert OLD in models_asked(openai_server)
        assert command.is_alive()
        command.join(60)
        assert runs[0].returncode == 0, runs[0].stderr
        assert json.loads(runs[0].stdout)["total"] == 48
        openai_server.requests.clear()
        after = ask(later, collection, "s9 counts the fleet ships")
        assert (after.mode, after.results[0].session_id, after.skipped) == ("vector", "s9", 0)
        assert models_asked(openai_server) == {NEW}
        again = reembed("reembed", "messages", "--collection", collection, "--json")
        assert json.loads(again.stdout)["total"] == 0


@pytest.mark.usefixtures("worker", "openai_server")
def test_stale_words_are_made_anew_from_the_command_line(
    mill: Querymill, querymill: CommandLine, database: psycopg.Connection
) -> None:
    collection = f"chats-{uuid4().hex[:12]}"
    take_in(mill, collection, "s", "t")
    with database.transaction():
        see(database, collection)
        database.execute("UPDATE word_indexes SET version = 0 WHERE collection = %s", [collection])
    asked = MessageSearch(collection=collection, query="which lunch of the fleet", hybrid=True)
    assert [part.stage for part in mill.submit(asked).result(15).degraded] == ["words"]
    run = querymill("reindex", "messages", "--collection", collection, "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) | {"job_id": ""} == ReindexResult(
        job_id="", of="messages", outcome="reindexed", total=8, complete=True,
        previous=dict.fromkeys(spaces_of("messages"), 0), version=WORDS_VERSION, changes=WORDS_CHANGES,
    ).model_dump(mode="json")  # fmt: skip
    assert mill.submit(asked).result(15).complete
    again = mill.submit(Reindex(collection=collection, of="messages")).result(20)
    assert (again.outcome, again.total) == ("fresh", 0)
