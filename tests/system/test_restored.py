"""The documented backup: dumped, restored into an empty database, searched by a worker with an empty board."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import psycopg
import pytest
import redis

from querymill import Querymill, Settings
from querymill_shared.contracts.filters import Retriever
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.clusters import run_program
from tests.fixtures.command_line import CommandLine
from tests.fixtures.databases import drop_database
from tests.fixtures.deployment import Deployment, finish_embedding, finished
from tests.fixtures.people import Person, document, ingestion, search

README: Final = Path(__file__).parents[2] / "deploy/README.md"
KINDS: Final[tuple[Retriever, ...]] = ("reports", "messages", "conversations", "files", "modules")
PEOPLE: Final = 3


@pytest.fixture
def restored(deployment: Deployment, database: psycopg.Connection) -> Iterator[dict[str, str]]:
    """The settings of a fleet with an empty database and an empty board."""
    name = f"t{uuid4().hex}"
    database.execute(f"CREATE DATABASE {name}".encode())
    url = f"{deployment.environment['DATABASE_URL'].rsplit('/', 1)[0]}/{name}"
    board = deployment.environment["REDIS_URL"].removesuffix("/2") + "/5"
    with redis.Redis.from_url(board) as client:
        client.flushdb()
    yield deployment.environment | {"DATABASE_URL": url, "REDIS_URL": board}
    drop_database(database, name)


def documented(command: str) -> str:
    """Return the line of the page that begins with a command, or with settings before it."""
    (line,) = re.findall(rf"^ +((?:PG\w+='[^']*' )?{command} .*?)(?:  #.*)?$", README.read_text(), re.MULTILINE)
    return str(line)


def run_documented(command: str, folder: Path, **settings: str) -> None:
    """Run a documented command in a shell, with the programs of the embedded server's version."""
    program = run_program("pg_dump", "--version")
    assert program.returncode == 0
    folder_of_programs = str(Path(program.args[0]).parent)
    done = subprocess.run(
        documented(command), shell=True, cwd=folder, capture_output=True, text=True, timeout=120, check=False,
        env={"PATH": f"{folder_of_programs}:/usr/bin:/bin", **settings},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def hits(mill: Querymill, collection: str, query: str) -> dict[str, Any]:
    """What each kind finds, with its scores."""
    found: dict[str, Any] = {}
    for kind in KINDS:
        result = mill.submit(search(kind, collection, query)).result(timeout=60).model_dump(mode="json")
        assert result["degraded"] == [], result
        found[kind] = result["results"]
    return found


def rows(url: str) -> dict[str, int]:
    with psycopg.connect(url) as connection:
        connection.execute("SET LOCAL querymill.across = on")
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        return {
            table: count
            for (table,) in tables
            for (count,) in connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchall()
        }


@pytest.mark.nightly
def test_a_restored_database_gives_the_same_hits_for_every_kind(
    deployment: Deployment, worker: WorkerProcess, mill: Querymill, openai_server: OpenAIServer,
    restored: dict[str, str], tmp_path: Path,
) -> None:  # fmt: skip
    collection, people = f"kept{uuid4().hex[:8]}", [Person.new() for _ in range(PEOPLE)]
    for kind in KINDS:
        for person in people:
            finished(mill, ingestion(kind, collection, document(kind, person)))
    finish_embedding(mill)
    before = {person.text: hits(mill, collection, person.text) for person in people}
    assert all(all(found.values()) for found in before.values())
    source = deployment.environment["DATABASE_URL"]
    for _ in range(9):
        counted = rows(source)
        run_documented("pg_dump", tmp_path, DATABASE_URL=source)
        if rows(source) == counted:  # else words were folded in the background while it was dumped
            break
    run_documented("pg_restore", tmp_path, DATABASE_URL=restored["DATABASE_URL"])
    assert rows(restored["DATABASE_URL"]) == counted
    migrated = CommandLine(restored)("migrate")
    assert migrated.stdout == "applied: nothing, the schema is up to date\n", migrated.stderr
    settings = Settings.model_validate({name.lower(): value for name, value in restored.items()})
    with WorkerProcess(restored, threads=8), Querymill(settings=settings) as again:
        assert {person.text: hits(again, collection, person.text) for person in people} == before
        # What is stored from now on is newer than what was restored.
        late = Person.new()
        for kind in KINDS:
            finished(again, ingestion(kind, collection, document(kind, late)))
            assert finished(again, search(kind, collection, late.text)).results
