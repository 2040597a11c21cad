"""A PostgreSQL without room or without writes: callers get 503 or wait, searches go on, and all recovers by itself."""

import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import redis

from querymill_embedded.postgres import server_account
from querymill_shared.settings import Settings
from querymill_workers.postgres.migrate import migrate
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.clusters import own_cluster
from tests.fixtures.command_line import NO_MODELS, CommandLine
from tests.fixtures.deployment import Deployment
from tests.fixtures.disks import filled, small_disk
from tests.fixtures.gateways import GatewayHere
from tests.fixtures.short_forms import all_at_night
from tests.fixtures.tallies import until

#: The size of the disk that the tables are on. A new database and the schema take two thirds of it.
DISK_MB = 32


@dataclass(frozen=True)
class SmallDatabase:
    """A database on a small disk of its own, seen by its owner and by a superuser."""

    url: str
    superuser_url: str
    disk: Path | None

    def without_room(self) -> AbstractContextManager[None]:
        """Fill the disk for a while."""
        if self.disk is None:
            pytest.skip("no disk that fills up can be mounted here")
        return filled(self.disk)

    @contextmanager
    def without_writes(self) -> Iterator[None]:
        """Let the server take no writes for a while, as one does that was demoted."""
        self._run("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
        try:
            yield
        finally:
            self._run("ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()")

    @contextmanager
    def without_sessions(self) -> Iterator[None]:
        """Let nobody in for a while."""
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'small'"
        self._run("ALTER DATABASE small ALLOW_CONNECTIONS false", ended)
        try:
            yield
        finally:
            self._run("ALTER DATABASE small ALLOW_CONNECTIONS true")

    def _run(self, *statements: str) -> None:
        with psycopg.connect(f"{self.superuser_url}/template1", autocommit=True) as superuser:
            for statement in statements:
                superuser.execute(statement.encode())


@pytest.fixture(scope="module")
def database() -> Iterator[SmallDatabase]:
    account = server_account(os.geteuid())
    owner = (-1, -1) if account is None else (account.uid, account.gid)
    with small_disk(DISK_MB, uid=owner[0], gid=owner[1]) as disk, own_cluster() as superuser_url:
        with psycopg.connect(f"{superuser_url}/template1", autocommit=True) as superuser:
            if disk is not None:
                superuser.execute(f"CREATE TABLESPACE small LOCATION '{disk}'".encode())
            superuser.execute("CREATE ROLE owner LOGIN CREATEROLE")
            placed = "" if disk is None else "TABLESPACE small"
            superuser.execute(f"CREATE DATABASE small OWNER owner {placed}".encode())
        with psycopg.connect(f"{superuser_url}/small", autocommit=True) as superuser:
            superuser.execute("CREATE EXTENSION IF NOT EXISTS vector")
        scheme, _, place = superuser_url.partition("://")
        url = f"{scheme}://owner@{place.rpartition('@')[2]}/small"
        migrate(url)
        yield SmallDatabase(url, superuser_url, disk)


@pytest.fixture(scope="module")
def environment(deployment: Deployment, database: SmallDatabase) -> dict[str, str]:
    board = deployment.environment["REDIS_URL"].removesuffix("/2") + "/7"
    with redis.Redis.from_url(board) as client:
        client.flushdb()
    return deployment.environment | {"REDIS_URL": board, "DATABASE_URL": database.url}


@pytest.fixture(scope="module")
def http(environment: dict[str, str]) -> Iterator[httpx.Client]:
    """A gateway and a worker."""
    settings = Settings.model_validate({name.lower(): value for name, value in environment.items()})
    with (
        WorkerProcess(environment, threads=8),
        GatewayHere(settings) as gateway,
        httpx.Client(base_url=gateway.url, timeout=60) as client,
    ):
        yield client


def report(name: str) -> dict[str, Any]:
    """A report that fits into no page that the tables have yet."""
    pages = [{"page": number, "text": f"ships {secrets.token_hex(1_500)}"} for number in range(1, 61)]
    return {"sha1": name, "title": "Fleet", "company": "Nordhav", "pages": pages}


def search(http: httpx.Client, **more: Any) -> httpx.Response:
    asked = {"kind": "reports", "query": "ships", "collection": "c", "deadline": 5, **more}
    return http.post("/v1/jobs?wait=30", json=asked)


def ingest(http: httpx.Client, name: str, wait: float) -> httpx.Response:
    asked = {"kind": "ingest_reports", "collection": "c", "documents": [report(name)]}
    return http.post(f"/v1/jobs?wait={wait}", json=asked)


def listed(http: httpx.Client, headers: Mapping[str, str] | None = None) -> httpx.Response:
    asked = {"kind": "list_documents", "retriever": "reports", "collection": "c", "deadline": 12}
    return http.post("/v1/jobs?wait=30", json=asked, headers=headers)


REFUSALS: dict[str, Callable[[SmallDatabase], AbstractContextManager[None]]] = {
    "DiskFull": SmallDatabase.without_room,
    "ReadOnlySqlTransaction": SmallDatabase.without_writes,
}


@pytest.mark.parametrize("said", all_at_night(REFUSALS, short=["ReadOnlySqlTransaction"]))
def test_writes_wait_and_searches_go_on_while_the_database_takes_no_writes(
    database: SmallDatabase, http: httpx.Client, openai_server: OpenAIServer, said: str
) -> None:
    assert ingest(http, f"{said}.before", 30).status_code == 200
    with REFUSALS[said](database):
        waiting = ingest(http, said, 2)
        assert (waiting.status_code, waiting.json()["state"]) == (202, "running")
        uploaded = http.post(
            "/v1/collections/c/reports", content=json.dumps(report(f"{said}.sent")),
            headers={"Content-Type": "application/x-ndjson"},
        )  # fmt: skip
        assert uploaded.status_code == 202
        found = search(http)
        assert (found.status_code, bool(found.json()["results"])) == (200, True)
        job = http.get(f"/v1/jobs/{waiting.json()['job_id']}").json()
        assert said in json.dumps(job)
        assert [list(step["put_back"]) for step in job["steps"]] == [["outages"]]
    begun = time.monotonic()
    done = http.get(f"/v1/jobs/{waiting.json()['job_id']}/result?wait=40")
    assert (done.status_code, done.json()["state"]) == (200, "done")
    until(lambda: http.get(f"/v1/collections/c/reports/{said}.sent").status_code == 200, within_s=30)
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize("asks", [("list", "search"), pytest.param(("answer",), marks=pytest.mark.nightly)])
def test_a_read_of_a_database_that_is_away_is_503_until_it_is_back(
    database: SmallDatabase, http: httpx.Client, openai_server: OpenAIServer, asks: Sequence[str]
) -> None:
    assert ingest(http, "read", 30).status_code == 200
    routes: dict[str, Callable[[], httpx.Response]] = {
        "list": lambda: listed(http),
        "search": lambda: search(http, deadline=12),
        "answer": lambda: http.post(
            "/v1/chat/completions", json={"model": "c", "messages": [{"role": "user", "content": "ships?"}]}
        ),
    }
    with database.without_sessions(), ThreadPoolExecutor(4) as callers:
        keyed = callers.submit(listed, http, {"Idempotency-Key": "once"})
        away = [(name, callers.submit(routes[name])) for name in asks]
        answered = {name: (each.result().status_code, each.result().headers.get("Retry-After")) for name, each in away}
        assert answered == dict.fromkeys(asks, (503, "1"))
        # The same request leads to the same job, which has failed.
        failed = keyed.result()
        assert (failed.status_code, failed.json()["code"]) == (424, "store_down")
        again = http.get(f"/v1/jobs/{failed.json()['job_id']}/result")
        assert (again.status_code, again.headers.get("Retry-After")) == (424, None)
    until(lambda: search(http).status_code == 200, within_s=30)
    assert listed(http).status_code == 200


@pytest.mark.nightly
def test_commands_of_a_machine_name_a_server_that_takes_no_writes(
    database: SmallDatabase, environment: dict[str, str]
) -> None:
    with database.without_writes():
        ran = {words: CommandLine(environment)(*words) for words in (("migrate",), ("migrate", "--check"))}
        shown = CommandLine(environment | NO_MODELS)("doctor").stdout
    for words, run in ran.items():
        assert (run.returncode, len(run.stderr.splitlines())) == (3, 1), (words, run.stderr)
        assert "default_transaction_read_only is on" in run.stderr
    assert "takes no writes" in shown
    assert CommandLine(environment)("migrate", "--check").returncode == 0
