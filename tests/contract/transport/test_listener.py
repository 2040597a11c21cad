"""Bells fetched from a real Valkey: several at once, for free threads only, and nothing that is no bell."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from urllib.parse import urlsplit
from uuid import uuid4

import numpy as np
import pytest
import redis

from querymill_shared import bells
from querymill_shared.board.connections import open_commands
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.queues import Queue
from querymill_workers.bell_consumer import LOOK_PAST_S, BellListener
from querymill_workers.dispatch.step_pool import StepPool
from querymill_workers.inference.ports import InputType, Vectors
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.usage import ProviderUsage
from tests.fakes.ports import memory_ports
from tests.fixtures.boards import new_board
from tests.fixtures.valkey_clusters import ValkeyCluster

PATIENCE_S = 20


class Heard:
    """Keeps the bells that were answered, and holds their threads until it is told not to."""

    def __init__(self) -> None:
        self.bells: list[Bell] = []
        self.may_end = threading.Event()

    def __call__(self, bell: Bell) -> None:
        self.bells.append(bell)
        self.may_end.wait(PATIENCE_S)

    def wait_for(self, count: int) -> list[Bell]:
        until = time.monotonic() + PATIENCE_S
        while len(self.bells) < count:
            assert time.monotonic() < until
            time.sleep(0.01)
        return self.bells


@pytest.fixture
def server(valkey_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(valkey_url) as client:
        client.flushdb()
        yield client


@pytest.fixture
def heard() -> Iterator[Heard]:
    heard = Heard()
    yield heard
    heard.may_end.set()


Listening = Callable[..., BellListener]


@pytest.fixture
def listening(valkey_url: str, heard: Heard) -> Iterator[Listening]:
    """Start a listener for a pool of threads."""
    started: list[BellListener] = []

    def start(*, threads: int, queues: tuple[str, ...] = ("search", "expand"), url: str = valkey_url) -> BellListener:
        step_pool = StepPool()
        step_pool.widen(threads)
        connect = partial(open_commands, url, max_connections=1, decode_responses=False)
        listener = BellListener(connect, lambda: queues, step_pool, heard, lambda jobs: [""] * len(jobs))
        started.append(listener)
        listener.start()
        return listener

    yield start
    heard.may_end.set()
    for listener in started:
        listener.stop()
    for thread in threading.enumerate():
        if thread.name == "listener":
            thread.join(PATIENCE_S)  # its last fetch must not take the bells of the next test


def ring(server: redis.Redis, *steps: str, queue: Queue = Queue.SEARCH) -> None:
    server.lpush(queue.value, *(bells.message(queue, "0a", step) for step in steps))


def test_bells_are_answered_in_order_each_on_a_thread(server: redis.Redis, heard: Heard, listening: Listening) -> None:
    ring(server, *(f"step-{number}" for number in range(20)))
    listening(threads=30)
    assert {bell.step for bell in heard.wait_for(20)} == {f"step-{number}" for number in range(20)}
    assert heard.bells[0] == Bell("0a", heard.bells[0].step, Queue.SEARCH)


def test_no_more_bells_are_fetched_than_threads_are_free(
    server: redis.Redis, heard: Heard, listening: Listening
) -> None:
    ring(server, *(f"step-{number}" for number in range(10)))
    listening(threads=3)
    heard.wait_for(3)
    time.sleep(0.3)
    assert (len(heard.bells), server.llen("search")) == (3, 7)
    heard.may_end.set()
    assert len(heard.wait_for(10)) == 10


def test_no_queue_waits_for_ever_behind_another(server: redis.Redis, heard: Heard, listening: Listening) -> None:
    ring(server, *(f"step-{number}" for number in range(50)))
    ring(server, "hyde", queue=Queue.EXPAND)
    heard.may_end.set()
    listening(threads=1)
    assert "hyde" in {bell.step for bell in heard.wait_for(20)[:20]}


def test_what_is_no_bell_is_passed_over(server: redis.Redis, heard: Heard, listening: Listening) -> None:
    server.lpush("search", "garbage", b"\xff", "null")
    ring(server, "original")
    listening(threads=2)
    assert [bell.step for bell in heard.wait_for(1)] == ["original"]
    assert server.llen("search") == 0


def test_bells_on_a_cluster_are_fetched_from_each_queue_for_threads_that_are_free(
    valkeys: ValkeyCluster, heard: Heard, listening: Listening
) -> None:
    """Its queues are on several servers. The one that is no list keeps nobody from the others."""
    with open_commands(valkeys.url, decode_responses=False) as client:
        client.flushdb()
        client.set("expand", "no list")
        listening(threads=3, queues=("search", "expand", "ranks", "rerank"), url=valkeys.url)
        for queue in (Queue.SEARCH, Queue.RANKS, Queue.RERANK):
            ring(client, "first", "second", queue=queue)
        heard.wait_for(3)
        time.sleep(0.3)
        assert len(heard.bells) == 3
        heard.may_end.set()
        assert Counter(bell.queue for bell in heard.wait_for(6)) == {
            Queue.SEARCH: 2, Queue.RANKS: 2, Queue.RERANK: 2,
        }  # fmt: skip
        client.flushdb()


def test_a_queue_that_nobody_asked_for_is_left_alone(server: redis.Redis, heard: Heard, listening: Listening) -> None:
    ring(server, "ranks", queue=Queue.RANKS)
    ring(server, "original")
    listening(threads=2, queues=("search", "of another program"))
    assert [bell.step for bell in heard.wait_for(1)] == ["original"]
    assert server.llen("ranks") == 1


def test_a_server_without_blmpop_is_asked_for_one_bell_at_a_time(
    server: redis.Redis, heard: Heard, listening: Listening, valkey_url: str
) -> None:
    address = urlsplit(valkey_url)
    server.acl_setuser("old", enabled=True, passwords=["+old"], keys=["*"], commands=["+@all", "-blmpop"])
    try:
        ring(server, "original", "hyde")
        listening(threads=4, url=f"redis://old:old@127.0.0.1:{address.port}{address.path}")
        assert {bell.step for bell in heard.wait_for(2)} == {"original", "hyde"}
    finally:
        server.acl_deluser("old")


def test_a_broker_that_is_away_is_asked_again(server: redis.Redis, heard: Heard, listening: Listening) -> None:
    listening(threads=2)
    ring(server, "first")
    heard.wait_for(1)
    server.client_kill_filter(_type="normal", skipme=True)
    ring(server, "second")
    assert [bell.step for bell in heard.wait_for(2)] == ["first", "second"]


def test_a_listener_that_hangs_up_closes_its_connections(server: redis.Redis, heard: Heard) -> None:
    name = f"bells-{uuid4().hex}"
    opened = redis.Redis.from_pool(
        type(server.connection_pool)(**server.connection_pool.connection_kwargs, client_name=name)
    )
    listener = BellListener(lambda: opened, lambda: ("search",), StepPool(), heard, lambda jobs: [""] * len(jobs))
    listener.listen()
    assert [client for client in server.client_list() if client["name"] == name]
    listener.hang_up()
    # The server notices a closed connection when it reads from it next.
    wait_until(lambda: [client for client in server.client_list() if client["name"] == name] == [])


def blocked_of(server: redis.Redis) -> int:
    """Count the clients of the same database that wait for bells."""
    database = str(server.connection_pool.connection_kwargs.get("db", 0))
    clients: list[dict[str, str]] = server.client_list()
    return sum(client["db"] == database and "b" in client["flags"] for client in clients)


def test_two_listeners_of_one_thread_answer_one_bell_at_a_time_and_lose_none(server: redis.Redis, heard: Heard) -> None:
    """Both wait for a bell while the thread is free, as those of the broker and of the board do."""
    step_pool = StepPool()
    listeners = [
        BellListener(lambda: server, lambda queue=queue: (queue,), step_pool, heard, lambda jobs: [""] * len(jobs))  # type: ignore[misc]
        for queue in ("search", "expand")
    ]
    for listener in listeners:
        listener.start()
    try:
        wait_until(lambda: blocked_of(server) == 2)
        both = server.pipeline()
        both.lpush("search", *(bells.message(Queue.SEARCH, "0a", f"s{number}") for number in range(3)))
        both.lpush("expand", *(bells.message(Queue.EXPAND, "0a", f"e{number}") for number in range(3)))
        both.execute()
        heard.wait_for(1)
        time.sleep(0.3)
        assert len(heard.bells) == 1
        assert server.llen("search") + server.llen("expand") == 5
        heard.may_end.set()
        steps = [bell.step for bell in heard.wait_for(6)]
        assert [step for step in steps if step.startswith("s")] == ["s0", "s1", "s2"]
        assert [step for step in steps if step.startswith("e")] == ["e0", "e1", "e2"]
    finally:
        heard.may_end.set()
        for listener in listeners:
            listener.stop()


class Blocked:
    """Embeds nothing until it may, and tells for whom it was asked."""

    model, dimensions, max_text_tokens = "scripted", 4, 8_191

    def __init__(self, longest_s: float = PATIENCE_S) -> None:
        self.asked: list[str] = []
        self.may_end = threading.Event()
        self._longest_s = longest_s

    def embed(self, texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, ProviderUsage]:
        self.asked.append(caller.collection)
        self.may_end.wait(self._longest_s)
        return np.ones((len(texts), 4), np.float32), ProviderUsage(1, 1)


def listener_on(server: redis.Redis, embeddings: Blocked, **submitted: int) -> BellListener:
    """Ring for so many jobs of each collection, and return what hears the bells for 16 threads."""
    board, step_pool = new_board(), StepPool()
    ports = memory_ports(board=board, embeddings=embeddings)
    step_pool.widen(16)
    for collection, count in submitted.items():
        for number in range(count):
            texts = ({"id": "a", "text": f"{collection} {number}"},)
            job_id, _ = board.submit(EmbedTexts.model_validate({"collection": collection, "texts": texts}))
            server.lpush("embed", bells.message(Queue.EMBED, job_id, "embed"))
    return BellListener(
        lambda: server,
        lambda: ("embed",),
        step_pool,
        lambda bell: step_pool.answer(bell, ports, lambda rung: None),
        lambda jobs: [board.picture(job).record.collection for job in jobs],
    )


def test_the_flood_of_short_steps_does_not_keep_a_bell_of_another_in_the_queue(server: redis.Redis) -> None:
    embeddings = Blocked(longest_s=0.02)
    listener = listener_on(server, embeddings, hog=400, shy=1)
    listener.start()
    try:
        wait_until(lambda: "shy" in embeddings.asked)
        assert embeddings.asked.index("shy") < 200, "a thread is free all the time, and 400 bells are older"
    finally:
        embeddings.may_end.set()
        listener.stop()


def test_the_flood_of_one_collection_does_not_keep_the_bells_of_another_in_the_queue(server: redis.Redis) -> None:
    embeddings = Blocked()
    listener = listener_on(server, embeddings, hog=40, shy=5)
    listener.start()
    try:
        wait_until(lambda: embeddings.asked.count("shy") == 2)
        time.sleep(3 * LOOK_PAST_S)
        counted = Counter(embeddings.asked)
        assert (counted["shy"], 14 <= counted["hog"] <= 16) == (2, True), "the hog takes none of the spare threads"
        embeddings.may_end.set()
        wait_until(lambda: len(embeddings.asked) == 45)
    finally:
        embeddings.may_end.set()
        listener.stop()


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)
