"""The real servers of a run with the settings that are shipped, the workers on them, and what can be done to them."""

import random
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import psycopg
import redis

from querymill import Querymill, Settings
from querymill_embedded import Stack, StackPart, temporary_stack
from querymill_embedded.processes import this_process
from querymill_shared.board.connections import open_commands
from querymill_workers.postgres.migrate import migrate
from tests.fakes.lists import Lists, lists
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.proxy import Network
from tests.fakes.rabbit import Rabbit, rabbit
from tests.fakes.worker import WorkerProcess
from tests.faults.table import models
from tests.faults.table.clients import Client
from tests.fixtures.clocks import SteppedServer, stepped_server
from tests.fixtures.disks import small_disk
from tests.fixtures.faults import network_before, through
from tests.fixtures.gateways import GatewayProcess, gateway_process
from tests.fixtures.releases import unpacked_former
from tests.fixtures.stacks import kill_part
from tests.fixtures.valkey_clusters import ValkeyCluster, valkey_cluster

#: What holds the board, and what carries the bells: the board's own server, a RabbitMQ, or one beside a cluster.
Servers = Literal["valkey", "rabbitmq", "cluster"]
WORKERS: Final = 3
THREADS: Final = 8
#: By when a worker that gives up has to have started, in seconds.
STARTED_WITHIN_S: Final = 120
BOARD_DISK_MB: Final = 400
#: PostgreSQL keeps up to a gigabyte of its log before it writes all pages.
STORE_DISK_MB: Final = 2_500


@dataclass
class Stage:
    """Servers, the networks before them, and workers.

    Attributes:
        board: the server of the board, unless that is on a cluster
        cluster: the cluster of the board, if it is on one
        broker: what carries the bells, if it is not the board's own server
        disk: what the data of the board are on, if a small disk can be mounted here
        store_disk: the same of PostgreSQL
        at_board: the network between the workers and the board
        at_store: the network between the workers and PostgreSQL
        callers: the network between the clients and the board
        witnesses: clients that ask what a fault needs to be asked, one for each kind of document
    """

    servers: Servers
    stack: Stack
    provider: OpenAIServer
    board: SteppedServer | None
    cluster: ValkeyCluster | None
    broker: Rabbit | Lists | None
    disk: Path | None
    store_disk: Path | None
    at_board: Network
    at_store: Network
    callers: Network
    environment: dict[str, str]
    settings: Settings
    chances: random.Random
    running: ExitStack
    straight_database: str
    workers: list[WorkerProcess] = field(default_factory=list)
    starting: list[threading.Thread] = field(default_factory=list)
    witnesses: list[Client] = field(default_factory=list)
    gateway: GatewayProcess | None = None
    former: dict[str, str] | None = None
    _hired: tuple[str, dict[str, str]] | None = None
    _looking: redis.Redis | None = None

    def mill(self, *, through_gateway: bool = False) -> Querymill:
        """Return another client, which is closed at the end."""
        mill = Querymill(url=self.own_gateway.url) if through_gateway else Querymill(settings=self.settings)
        return self.running.enter_context(mill)

    @property
    def own_gateway(self) -> GatewayProcess:
        """The gateway, once it has been started."""
        assert self.gateway is not None
        return self.gateway

    def start_gateway(self) -> None:
        """Start the gateway: again in the same place if it was there before."""
        port = None if self.gateway is None else urlsplit(self.gateway.url).port
        self.gateway = self.running.enter_context(gateway_process(self.environment, port=port))

    def reseed(self, seed: int) -> None:
        """Begin the chances of a run."""
        self.chances.seed(seed)

    def look(self) -> redis.Redis:
        """Return the client of the board for the run itself."""
        if self._looking is None:
            url = self.cluster.url if self.cluster is not None else self.own_board.url
            self._looking = self.running.enter_context(open_commands(url))
        return self._looking

    @property
    def own_board(self) -> SteppedServer:
        """The server of the board, which is not on a cluster."""
        assert self.board is not None
        return self.board

    def database(self) -> "psycopg.Connection[Any]":
        """Return a connection of the owner, straight to the server."""
        return psycopg.connect(self.straight_database, autocommit=True)

    def hire(self, *, app: str, settings: Mapping[str, str]) -> None:
        """Have workers of an app, with settings of their own beside those that are shipped: those there, or others."""
        asked = (app, dict(settings))
        self.await_starts()
        if asked != self._hired:
            for worker in self.workers:
                worker.kill()
            environment = self.environment | asked[1]
            self.workers = [
                self.running.enter_context(WorkerProcess(environment, app=app, threads=THREADS, name=f"w{number}"))
                for number in range(WORKERS)
            ]
            self._hired = asked

    @property
    def settings_of_hired(self) -> Mapping[str, str]:
        """The settings that the workers have of their own."""
        return {} if self._hired is None else self._hired[1]

    def any_worker(self) -> WorkerProcess:
        """Choose a worker by chance, once all have started."""
        self.await_starts()
        return self.chances.choice(self.workers)

    def worker_called(self, name: str) -> WorkerProcess:
        """Return the worker that calls itself this on the board, such as "w1@host"."""
        return self.workers[int(name.partition("@")[0].removeprefix("w"))]

    def start_soon(self, worker: WorkerProcess) -> None:
        """Start a worker while the others go on, as its supervisor would."""
        thread = threading.Thread(target=_start_in_time, args=(worker,))
        thread.start()
        self.starting.append(thread)

    def await_starts(self) -> None:
        """Wait until all workers have started."""
        while self.starting:
            self.starting.pop().join()

    def kill_part(self, name: str) -> None:
        """kill -9 a server of the stack; its supervisor starts it again."""
        kill_part(self.stack, name)

    def versions(self) -> str:
        """Return the servers with their versions."""
        told: Any = self.look().info("server")
        with self.database() as database:
            (postgres,) = database.execute("SHOW server_version").fetchone() or ("",)
        valkey = told.get("valkey_version") or next(iter(told.values()))["valkey_version"]
        rabbit = f", RabbitMQ {self.broker.ask('version')[0][0]}" if isinstance(self.broker, Rabbit) else ""
        return f"Valkey {valkey}, PostgreSQL {postgres}{rabbit}"

    def forget_replies(self) -> None:
        """Take what models said before from the board."""
        board = self.look()
        for pattern in ("qm:*vector:*", "qm:*chat:*"):
            for key in board.scan_iter(pattern, count=1_000):
                board.delete(key)

    def pause(self, least_s: float, most_s: float) -> None:
        """Let some time pass, by chance."""
        threading.Event().wait(self.chances.uniform(least_s, most_s))


@contextmanager
def open_stage(servers: Servers, *, seed: int) -> Iterator[Stage]:
    """Start the servers."""
    with ExitStack() as running:
        store_disk = running.enter_context(small_disk(STORE_DISK_MB))
        stack = running.enter_context(_store_on(store_disk))
        provider = running.enter_context(OpenAIServer().running())
        models.behave(provider)
        database_url = stack.environment()["DATABASE_URL"]
        migrate(database_url)
        cluster = running.enter_context(valkey_cluster()) if servers == "cluster" else None
        disk = running.enter_context(small_disk(BOARD_DISK_MB))
        board = None if cluster else running.enter_context(stepped_server(fsync="everysec", data=disk))
        broker = _broker_for(servers, running)
        board_url = cluster.url if cluster is not None else _url_of(board)
        before = (board_url, database_url, board_url)
        at_board, at_store, callers = (running.enter_context(network_before(url)) for url in before)
        environment = {
            "REDIS_URL": board_url if cluster else through(board_url, at_board),
            "DATABASE_URL": through(database_url, at_store), "OPENAI_BASE_URL": provider.url,
            "EMBEDDING_BASE_URL": provider.url, "EMBEDDING_MODEL": "multilingual-e5-small", "CHAT_MODEL": "scripted",
        }  # fmt: skip
        if broker is not None:
            environment["CELERY_BROKER_URL"] = broker.url("1") if isinstance(broker, Rabbit) else broker.url()
        seen = environment if cluster else environment | {"REDIS_URL": through(board_url, callers)}
        settings = Settings.model_validate({name.lower(): value for name, value in seen.items()})
        yield Stage(
            servers, stack, provider, board, cluster, broker, disk, store_disk, at_board, at_store, callers,
            environment, settings, random.Random(seed), running, database_url,
        )  # fmt: skip


@contextmanager
def _store_on(disk: Path | None) -> Iterator[Stack]:
    """Start PostgreSQL with its data on a disk, or on this machine's own."""
    if disk is None:
        with temporary_stack(parts={StackPart.POSTGRES}) as stack:
            yield stack
        return
    # The server runs as another user, who must be able to enter the folder.
    disk.chmod(0o711)
    stack = Stack(disk / "stack", owner=this_process())
    stack.up(parts={StackPart.POSTGRES})
    try:
        yield stack
    finally:
        stack.down()


def _broker_for(servers: Servers, running: ExitStack) -> Rabbit | Lists | None:
    match servers:
        case "rabbitmq":
            return running.enter_context(rabbit())
        case "cluster":
            return running.enter_context(lists())
        case "valkey":
            return None


def _url_of(board: SteppedServer | None) -> str:
    assert board is not None
    return board.url


def former_environment(stage: Stage) -> dict[str, str]:
    """Return what makes a process run the last release."""
    if stage.former is None:
        folder = Path(stage.running.enter_context(tempfile.TemporaryDirectory(prefix="qm-former-")))
        stage.former = unpacked_former(folder).environment
    return stage.former


@contextmanager
def replaced(stage: Stage, environment: Mapping[str, str], *options: str) -> Iterator[WorkerProcess]:
    """Let another worker stand in for one for a while. Both end as they do when a fleet is updated."""
    worker = stage.any_worker()
    worker.terminate()
    its_environment = {**stage.environment, **stage.settings_of_hired, **environment}
    other = WorkerProcess(its_environment, threads=THREADS, name="other", options=options)
    with other:
        yield other
        other.terminate()
    worker.start()


def _start_in_time(worker: WorkerProcess) -> None:
    """Start a worker again if it gives up: one whose board takes no writes just now ends, and says so."""
    until = time.monotonic() + STARTED_WITHIN_S
    while True:
        try:
            worker.start()
        except RuntimeError:
            if time.monotonic() >= until:
                raise
            time.sleep(1)
        else:
            return
