"""Workers whose board is on a cluster: its bells ride on a Valkey of their own."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from itertools import count
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import httpx
import psycopg
import pytest

from querymill import IngestReports, Querymill, ReportSearch, Unavailable
from querymill.cli.doctor import diagnose
from querymill.keys import Keyring, Scope
from querymill_embedded import StackPart, temporary_stack
from querymill_shared.board import ValkeyBoard
from querymill_shared.board.connections import open_commands
from querymill_shared.board.keys import COLLECTIONS, SHARDS, SWEEPERS, WORKERS, prefix
from querymill_shared.board.queue_work import read_work
from querymill_shared.contracts.reports.ingest import Report
from querymill_shared.settings import Settings
from querymill_workers.postgres.migrate import migrate
from tests.fakes.lists import Lists, lists
from tests.fakes.rabbit import Rabbit, of_board, rabbit
from tests.fakes.worker import WorkerProcess
from tests.fixtures.command_line import NO_MODELS, CommandLine
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import running_gateway
from tests.fixtures.valkey_clusters import ValkeyCluster, valkey_cluster
from tests.system.test_valkey_users import FILE, ROLES, WITHHELD, password, with_passwords

T = TypeVar("T")
JOBS = 48
#: A search that is submitted while the broker is away is answered within so many seconds: 19 of 20.
SOON_S = 2.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[ValkeyCluster]:
    """A cluster of this module's own: a server of it is killed."""
    with valkey_cluster() as started:
        yield started


@pytest.fixture(scope="module")
def bells() -> Iterator[str]:
    with temporary_stack(parts={StackPart.VALKEY}) as stack:
        yield stack.environment()["REDIS_URL"]


def patiently(ask: Callable[[], T]) -> T:
    """Ask again while the board is away, as a backend does after a 503."""
    until = time.monotonic() + 60
    while True:
        try:
            return ask()
        except Unavailable:
            assert time.monotonic() < until
            time.sleep(0.1)


def document(collection: str, number: int) -> IngestReports:
    report = {
        "sha1": f"{number:040x}", "title": f"Report {number}", "company": "Nordhav", "period": "2022",
        "pages": [{"page": 1, "text": f"the fleet counts {number} ships"}],
    }  # fmt: skip
    return IngestReports(collection=collection, documents=(Report.model_validate(report),))


def stored(database: psycopg.Connection, collection: str) -> int:
    row = database.execute("SELECT count(*) FROM reports WHERE collection = %s", [collection]).fetchone()
    assert row is not None
    return int(row[0])


class Fleet:
    """Workers on a cluster, and callers that have documents ingested and wait for each."""

    def __init__(self, deployment: Deployment, cluster: ValkeyCluster, bells: str) -> None:
        self.environment = deployment.environment | {"REDIS_URL": cluster.url, "CELERY_BROKER_URL": bells}
        self.chosen = deployment.settings.model_copy(update={"redis_url": cluster.url, "celery_broker_url": bells})
        self.collection = f"c{uuid4().hex[:12]}"
        self.submitted = threading.Semaphore(0)

    def ingest(self, mill: Querymill, number: int) -> bool:
        key = f"{self.collection} {number}"
        job = patiently(lambda: mill.submit(document(self.collection, number), idempotency_key=key))
        self.submitted.release()
        return bool(patiently(lambda: job.result(timeout=90)).complete)

    def check(self, database: psycopg.Connection, jobs: int) -> None:
        """Check that every job was accepted once, ended once, and had its effect, and that nothing is left to do."""
        with closing(ValkeyBoard.connect(self.chosen)) as board:
            until = time.monotonic() + 60
            while patiently(board.open_jobs):  # those that make vectors
                assert time.monotonic() < until
                time.sleep(0.1)
            counts = board.counts()
            left = [work for work in read_work(board._client, ()) if work.waiting or work.running]
        assert counts.submitted["ingest_reports"] == jobs
        assert {state: number for (kind, state), number in counts.ended.items() if kind == "ingest_reports"} == {
            "done": jobs
        }
        assert stored(database, self.collection) == jobs
        assert left == []


@pytest.fixture
def fleet(deployment: Deployment, cluster: ValkeyCluster, bells: str) -> Fleet:
    cluster.await_whole()
    with open_commands(cluster.url) as client:
        client.flushdb()
    return Fleet(deployment, cluster, bells)


def by_keys(cluster: ValkeyCluster, key: str) -> None:
    cluster.move_slot_of(key, at_once=1, pause_s=0.005)


def as_one(cluster: ValkeyCluster, key: str) -> None:
    cluster.hand_over_slot_of(key)


MOVES = [
    pytest.param(by_keys, "0a", id="two shards by keys"),
    pytest.param(by_keys, SHARDS, id="all by keys", marks=pytest.mark.nightly),
    pytest.param(as_one, SHARDS, id="all as one", marks=pytest.mark.nightly),
]


@pytest.mark.parametrize(("move", "shards"), MOVES)
def test_none_is_lost_or_doubled_while_slots_move(
    fleet: Fleet, cluster: ValkeyCluster, database: psycopg.Connection, move: Callable[[ValkeyCluster, str], None],
    shards: str,
) -> None:  # fmt: skip
    moved = threading.Event()
    numbers = count()

    def ingest(mill: Querymill) -> int:
        ingested = 0
        while not moved.is_set():
            assert fleet.ingest(mill, next(numbers))
            ingested += 1
        return ingested

    with (
        WorkerProcess(fleet.environment), WorkerProcess(fleet.environment), Querymill(settings=fleet.chosen) as mill,
        ThreadPoolExecutor(8) as callers,
    ):  # fmt: skip
        ingesting = [callers.submit(ingest, mill) for _ in range(8)]
        try:
            for _ in range(16):
                assert fleet.submitted.acquire(timeout=60)
            for key in [*(f"{prefix(shard)}due" for shard in shards), WORKERS, COLLECTIONS]:
                move(cluster, key)
                assert fleet.submitted.acquire(timeout=60)
        finally:
            moved.set()
        ingested = sum(each.result() for each in ingesting)
        assert ingested > 16
        fleet.check(database, ingested)


@pytest.mark.nightly
def test_none_is_lost_or_doubled_though_a_primary_dies(
    fleet: Fleet, cluster: ValkeyCluster, database: psycopg.Connection
) -> None:
    with (
        WorkerProcess(fleet.environment), WorkerProcess(fleet.environment), Querymill(settings=fleet.chosen) as mill,
        ThreadPoolExecutor(8) as callers,
    ):  # fmt: skip
        asked = [callers.submit(fleet.ingest, mill, number) for number in range(JOBS)]
        for _ in range(JOBS // 4):
            fleet.submitted.acquire()
        # Not the one that REDIS_URL names, so that it may be any of the others.
        victim = next(server for server in cluster.servers[1:3] if server.is_primary())
        victim.kill()
        assert [each.result() for each in asked] == [True] * JOBS
        cluster.await_whole()
        fleet.check(database, JOBS)


def as_role(cluster: ValkeyCluster, role: str) -> str:
    return cluster.url.replace("//", f"//{role}:{password(role)}@")


@pytest.fixture
def users(cluster: ValkeyCluster) -> Iterator[Callable[[], set[tuple[str, str, str]]]]:
    """The users of the file on every server. Returns who was refused what."""
    cluster.await_whole()
    lines = [line.split()[1:] for line in with_passwords(FILE.read_text(encoding="utf-8")).splitlines()]
    for server in cluster.living():
        for name, *rules in lines:
            if name != "default":  # it is the test's
                server.ask("ACL", "SETUSER", name, *[" ".join(rule) for rule in joined(rules)])
        server.client.acl_log_reset()

    def refused() -> set[tuple[str, str, str]]:
        log: list[Any] = [entry for server in cluster.living() for entry in server.client.acl_log()]
        return {(entry["username"], entry["reason"], entry["object"]) for entry in log} - WITHHELD

    yield refused
    for server in cluster.living():
        server.ask("ACL", "DELUSER", *ROLES)


def joined(rules: Sequence[str]) -> Iterator[list[str]]:
    """Yield rules, a selector with its brackets as one."""
    selector: list[str] = []
    for rule in rules:
        selector.append(rule)
        if not selector[0].startswith("(") or rule.endswith(")"):
            yield selector
            selector = []


@pytest.mark.nightly
def test_the_users_of_the_file_do_their_work_on_a_cluster(
    fleet: Fleet, cluster: ValkeyCluster, users: Callable[[], set[tuple[str, str, str]]], openai_server: object
) -> None:
    environment = {role: fleet.environment | {"REDIS_URL": as_role(cluster, role)} for role in ROLES}
    chosen = fleet.chosen.model_copy(update={"redis_url": as_role(cluster, "producer")})
    with (
        WorkerProcess(environment["worker"]), Querymill(settings=chosen) as mill,
        running_gateway(environment["gateway"]) as url,
    ):  # fmt: skip
        assert fleet.ingest(mill, 1)
        cluster.move_slot_of(WORKERS, at_once=1, pause_s=0.5)  # while the worker beats
        cluster.move_slot_of(SWEEPERS, at_once=1, pause_s=0.01)
        assert fleet.ingest(mill, 2)
        assert search(mill, fleet.collection, 1)
        assert httpx.get(f"{url}/readyz").status_code == 200
        assert "querymill_" in httpx.get(f"{url}/metrics").text
        made = CommandLine(environment["keeper"])("keys", "add", "web", "--collection", "*", "--json")
        header = {"Authorization": f"Bearer {json.loads(made.stdout)['key']}"}
        assert httpx.get(f"{url}/v1/jobs", headers=header).status_code == 200
        status = CommandLine(environment["gateway"])("status")
        assert status.returncode == 0, status.stderr
        doctor = CommandLine(environment["worker"] | NO_MODELS)("doctor")
        assert "broker" in doctor.stdout
    assert users() == set()


BROKERS: dict[str, Callable[[], AbstractContextManager[Lists | Rabbit]]] = {"valkey": lists, "rabbitmq": rabbit}


@pytest.mark.nightly
@pytest.mark.parametrize("kind", BROKERS)
def test_a_broker_that_is_away_costs_searches_nothing(
    deployment: Deployment, cluster: ValkeyCluster, openai_server: object, kind: str
) -> None:
    with BROKERS[kind]() as broker:
        fleet = Fleet(deployment, cluster, of_board(broker.url(), cluster.url))
        with WorkerProcess(fleet.environment), Querymill(settings=fleet.chosen) as mill:
            assert fleet.ingest(mill, 1)
            assert search(mill, fleet.collection, 0) < SOON_S
            broker.kill()
            took = [search(mill, fleet.collection, number) for number in range(1, 21)]
            assert sorted(took)[18] <= SOON_S, sorted(took)
            broker.start()
            until = time.monotonic() + 60
            while not search(mill, fleet.collection, int(time.monotonic() * 1_000)) < SOON_S:
                assert time.monotonic() < until


def search(mill: Querymill, collection: str, number: int) -> float:
    """Return after how many seconds a question was answered."""
    begun = time.monotonic()
    asked = ReportSearch(query=f"how many ships are there in {number}", collection=collection, deadline=20)
    assert mill.submit(asked).result(timeout=30).results
    return time.monotonic() - begun


@pytest.mark.nightly
@pytest.mark.parametrize("moved", ["nothing", "a slot meanwhile"])
def test_a_backup_has_the_jobs_of_all_servers_and_is_restored_over_others(
    cluster: ValkeyCluster, bells: str, empty_url: str, tmp_path: Path, moved: str
) -> None:
    migrate(empty_url)
    settings = Settings(redis_url=cluster.url)
    querymill = CommandLine({"DATABASE_URL": empty_url, "REDIS_URL": cluster.url, "CELERY_BROKER_URL": bells})
    with open_commands(cluster.url) as client, closing(ValkeyBoard.connect(settings)) as board:
        client.flushdb()
        submitted = {board.submit(document("kept", number))[0] for number in range(JOBS)}
        assert len({job_id[0] for job_id in submitted}) > 8
        key = Keyring(client).add("web", scopes=[Scope.SEARCH], collections=["*"])[0]
        backed_up = querymill("backup", tmp_path / "b", "--json")
        assert backed_up.returncode == 0, backed_up.stderr
        assert json.loads(backed_up.stdout)["board"] == {"jobs": JOBS, "has_api_keys": True}
        for number in range(JOBS):
            board.submit(document("later", number))
        if moved != "nothing":
            cluster.move_slot_of(prefix("3") + "due")
        refused = querymill("restore", tmp_path / "b")
        assert "REDIS_URL: the board holds jobs" in refused.stderr
        restored = querymill("restore", tmp_path / "b", "--replace")
        assert restored.returncode == 0, restored.stderr
        assert set(board.open_jobs(limit=1_000)) == submitted
        assert {due.job_id for due in board.due()} == submitted
        assert [kept.id for kept in Keyring(client).all()] == [key.id]


@pytest.mark.nightly
def test_a_worker_whose_broker_is_a_cluster_says_so_and_ends(deployment: Deployment, valkeys: ValkeyCluster) -> None:
    environment = os.environ | deployment.environment | {"REDIS_URL": valkeys.url, "CELERY_BROKER_URL": ""}
    command = [sys.executable, "-m", "querymill", "worker"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == os.EX_CONFIG, ended.stderr[-2000:]
    assert "carries no bells: set CELERY_BROKER_URL" in ended.stdout + ended.stderr


@pytest.mark.nightly  # the others of its findings take long
@pytest.mark.parametrize("broker", ["", "the same", "another"])
def test_doctor_names_a_broker_that_is_a_cluster(
    deployment: Deployment, valkeys: ValkeyCluster, monkeypatch: pytest.MonkeyPatch, broker: str
) -> None:
    for name, value in deployment.environment.items():
        monkeypatch.setenv(name, value)
    if broker != "another":
        monkeypatch.setenv("REDIS_URL", valkeys.url)
    monkeypatch.setenv("CELERY_BROKER_URL", broker and valkeys.url)
    (found,) = [finding for finding in diagnose() if finding.name == "broker"]
    assert found.ok is False
    assert found.mend.startswith("CELERY_BROKER_URL:" if broker else "REDIS_URL:")
    assert "RabbitMQ" in found.mend
