"""The drill: back up under load, lose everything, restore, ask again. On PostgreSQL, MongoDB's wire and the board."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import psycopg
import pymongo
import pytest
import redis

from querymill import AnswerQuestion, Extend, Querymill, Settings
from querymill.keys import Keyring, Scope
from querymill_embedded import Stack
from querymill_shared.contracts.conversations.ranks import RecomputeRanks
from querymill_shared.contracts.documents import ShowDocument
from querymill_shared.contracts.filters import Retriever
from querymill_workers.postgres.migrate import migrate
from tests.fakes.openai_server import OpenAIServer, chat_answer, held, reworded
from tests.fakes.worker import WorkerProcess
from tests.fixtures.command_line import CommandLine
from tests.fixtures.databases import drop_database
from tests.fixtures.deployment import Deployment, finish_embedding, finished
from tests.fixtures.people import Person, document, document_id, dropping, ingestion, search
from tests.fixtures.stacks import kept
from tests.fixtures.tenant_rows import fill

__all__ = ["kept"]

KINDS: Final[tuple[Retriever, ...]] = ("reports", "messages", "conversations", "files", "modules")
#: The queues that the worker serves while the backup is made: a job of `ranks` waits.
SERVED: Final = "search,expand,ingest,embed,rerank"
COLLECTION, BUSY = "kept", "busy"
SESSION: Final = "live"


@pytest.fixture
def fleet(deployment: Deployment, database: psycopg.Connection, mongodb_uri: str) -> Iterator[dict[str, str]]:
    """The settings of a fleet with three servers of its own, all of them empty."""
    name = f"t{uuid4().hex}"
    database.execute(f"CREATE DATABASE {name}".encode())
    yield deployment.environment | {
        "DATABASE_URL": f"{deployment.environment['DATABASE_URL'].rsplit('/', 1)[0]}/{name}",
        "REDIS_URL": deployment.environment["REDIS_URL"].removesuffix("/2") + "/7",
        "MONGODB_URI": mongodb_uri.replace("/querymill?", f"/{name}?"),
    }
    drop_database(database, name)


def lose_everything(fleet: dict[str, str], database: psycopg.Connection) -> None:
    """All three servers are as new."""
    name = fleet["DATABASE_URL"].rsplit("/", 1)[1]
    drop_database(database, name)
    database.execute(f"CREATE DATABASE {name}".encode())
    with redis.Redis.from_url(fleet["REDIS_URL"]) as client:
        client.flushdb()
    with mongo(fleet) as codes:
        codes.client.drop_database(codes.name)


@contextmanager
def mongo(fleet: dict[str, str]) -> Iterator[Any]:
    client: pymongo.MongoClient[Any] = pymongo.MongoClient(fleet["MONGODB_URI"])
    with client:
        yield client.get_default_database()


class Load:
    """Threads that write until they are stopped: live messages, versions of one code document, and documents."""

    def __init__(self, mill: Querymill) -> None:
        self._mill = mill
        self.said = 0
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._repeat, args=(write,))
            for write in (self._say, self._rewrite, self._rewrite, self._ingest)
        ]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _repeat(self, write: Any) -> None:
        number = 0
        while not self._stopping.is_set():
            write(number, threading.get_ident() % 1000)
            number += 1
            time.sleep(0.1)  # the machine is to have time for the backup, too

    def _say(self, number: int, _: int) -> None:
        message = {"message_id": f"m{number}", "role": "user", "text": f"said number {number}"}
        session = {"session_id": SESSION, "messages": [message], "started_at": "2026-03-01T10:00:00Z"}
        asked = {"collection": BUSY, "retriever": "conversations", "documents": [session]}
        self._mill.submit(Extend.model_validate(asked)).result(timeout=60)
        self.said = number + 1

    def wait_for_more(self) -> int:
        """Wait until a message more was said, and return how many there are."""
        before, until = self.said, time.monotonic() + 60
        while self.said <= before:
            assert time.monotonic() < until
            time.sleep(0.01)
        return self.said

    def _rewrite(self, number: int, thread: int) -> None:
        for place in range(4):
            line = {"file_path": f"{thread}-{place}.js", "code": f"// version {number} of {place}"}
            meta = {"vtkjs_modules": ["vtk.Rendering.Core.vtkActor"], "description": f"version {number}"}
            self._mill.submit(ingestion("modules", BUSY, line | {"meta_info": meta})).result(timeout=60)

    def _ingest(self, _: int, __: int) -> None:
        for kind in KINDS:
            self._mill.submit(ingestion(kind, BUSY, document(kind, Person.new()))).result(timeout=60)


def hits(mill: Querymill, query: str) -> dict[str, list[Any]]:
    """What each kind finds, with its scores."""
    found = {kind: mill.submit(search(kind, COLLECTION, query)).result(timeout=60) for kind in KINDS}
    assert [result.degraded for result in found.values() if result.degraded] == []
    return {kind: result.model_dump(mode="json")["results"] for kind, result in found.items()}


def said_in(mill: Querymill) -> list[str]:
    shown = finished(mill, ShowDocument(collection=BUSY, retriever="conversations", id=SESSION))
    return [message["message_id"] for message in shown.document["messages"]]


def records(fleet: dict[str, str]) -> tuple[set[tuple[str, str, str]], set[tuple[str, str, str]]]:
    """Which record counts of each code document, as PostgreSQL says, and which records MongoDB has."""
    with psycopg.connect(fleet["DATABASE_URL"]) as connection:
        connection.execute("SET LOCAL querymill.across = on")
        rows = connection.execute("SELECT collection, document, record FROM module_register").fetchall()
        counting = {(collection, json.loads(name), record) for collection, name, record in rows}
    with mongo(fleet) as codes:
        return counting, {
            (row["collection"], row["document"], version["record"])
            for row in codes["module_codes"].find()
            for version in (row, row.get("former"))
            if version and "json" in version
        }


def test_everything_is_lost_and_comes_back(
    fleet: dict[str, str], database: psycopg.Connection, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    settings = Settings.model_validate({name.lower(): value for name, value in fleet.items()})
    querymill, people, gone, folder = CommandLine(fleet), [Person.new() for _ in range(2)], Person.new(), tmp_path / "b"
    assert querymill("migrate").returncode == 0
    opened = threading.Event()
    with redis.Redis.from_url(fleet["REDIS_URL"]) as client:
        client.flushdb()
    with WorkerProcess(fleet, threads=16, queues=SERVED), Querymill(settings=settings) as mill:
        for kind in KINDS:
            finished(mill, ingestion(kind, COLLECTION, *(document(kind, person) for person in (*people, gone))))
        for kind in KINDS:
            finished(mill, dropping(kind, COLLECTION, ids=[document_id(kind, gone)]))
        finish_embedding(mill)
        before = {person.text: hits(mill, person.text) for person in people}
        assert all(len(found) >= 1 for each in before.values() for found in each.values())
        once = mill.submit(ingestion("reports", COLLECTION, document("reports", people[0])), idempotency_key="once")
        once.result(timeout=30)
        Keyring(redis.Redis.from_url(fleet["REDIS_URL"])).add("web", scopes=[Scope.SEARCH], collections=["*"])
        openai_server.script.chat = held(opened, lambda request: chat_answer("Nine ships [1]."))
        asked = {
            "query": "how many ships?",
            "collection": "x",
            "hits": [{"id": "1", "text": "nine ships"}],
            "deadline": 300,
        }
        running = mill.submit(AnswerQuestion.model_validate(asked))
        finished(mill, ingestion("conversations", BUSY, document("conversations", gone)))
        waiting = mill.submit(RecomputeRanks(collection=BUSY))
        with Load(mill) as load:
            said = load.wait_for_more()
            backed_up = querymill("backup", folder)
            assert backed_up.returncode == 0, backed_up.stderr
            load.wait_for_more()  # it is not in the backup
    lose_everything(fleet, database)
    opened.set()
    restored = querymill("restore", folder)
    assert restored.returncode == 0, restored.stderr
    counting, stored = records(fleet)
    assert counting <= stored
    assert len(counting) > len(people)
    with WorkerProcess(fleet, threads=16), Querymill(settings=settings) as mill:
        assert mill.job(running.id).result(timeout=20).answer  # its step was put back at once
        openai_server.script.chat = reworded
        assert mill.job(waiting.id).result(timeout=60)
        finish_embedding(mill)
        after = {person.text: hits(mill, person.text) for person in people}
        assert after == before
        assert gone.name not in str([finished(mill, search(kind, COLLECTION, gone.text)) for kind in KINDS])
        # No job has its effect twice: what was said is there once and in its order.
        messages = said_in(mill)
        assert messages == [f"m{number}" for number in range(len(messages))]
        assert said <= len(messages)
        again = mill.submit(ingestion("reports", COLLECTION, document("reports", people[0])), idempotency_key="once")
        assert again.id == once.id
        assert [key.name for key in Keyring(redis.Redis.from_url(fleet["REDIS_URL"])).all()] == ["web"]
        # What is stored from now on is newer than what was restored.
        late = Person.new()
        for kind in KINDS:
            finished(mill, ingestion(kind, COLLECTION, document(kind, late)))
        finish_embedding(mill)
        assert all(hits(mill, late.text).values())
        counting, stored = records(fleet)
        assert counting <= stored


@pytest.mark.nightly
def test_the_servers_of_an_embedded_stack_are_started_for_it(
    empty_url: str, valkey_url: str, tmp_path: Path, kept: Stack
) -> None:
    migrate(empty_url)
    fill(empty_url, "fleet", 2)
    querymill = CommandLine({"DATABASE_URL": empty_url, "REDIS_URL": valkey_url.removesuffix("/1") + "/7"})
    backed_up = querymill("backup", tmp_path / "b", "--json")
    assert backed_up.returncode == 0, backed_up.stderr
    restored = querymill("restore", tmp_path / "b", "--data", kept.data)
    assert restored.returncode == 0, restored.stderr
    again = querymill("backup", tmp_path / "again", "--data", kept.data, "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["tables"] == json.loads(backed_up.stdout)["tables"]
    assert kept.status() == []
