"""A server of its own for what providers returned: values are there alone, and without it jobs are answered."""

import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
import redis

from querymill import Querymill
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.settings import Settings
from querymill_workers.inference.fleet_cache import FleetCaches, cache_key
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment, finished
from tests.fixtures.people import Person, document, document_id, dropping, ingestion
from tests.fixtures.refusing_boards import RefusingBoard, refusing, refusing_board
from tests.fixtures.short_forms import all_at_night
from tests.fixtures.tallies import until


@pytest.fixture
def board(valkey_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(valkey_url.removesuffix("/1") + "/10") as client:
        client.flushdb()
        yield client


@pytest.fixture
def apart(valkey_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(valkey_url.removesuffix("/1") + "/11") as client:
        client.flushdb()
        yield client


def texts(name: str) -> EmbedTexts:
    return EmbedTexts.model_validate({"collection": "c", "texts": [{"id": name, "text": "nine ships"}]})


def embedded(environment: dict[str, str], *names: str) -> list[str]:
    settings = Settings.model_validate({name.lower(): value for name, value in environment.items()})
    with Querymill(settings=settings) as mill:
        return [mill.submit(texts(name)).result(timeout=40).state for name in names]


def test_values_are_on_that_server_and_nothing_else_is(
    deployment: Deployment, board: redis.Redis, apart: redis.Redis, openai_server: OpenAIServer, valkey_url: str
) -> None:
    at = valkey_url.removesuffix("/1")
    environment = deployment.environment | {"REDIS_URL": f"{at}/10", "QUERYMILL_CACHE_URL": f"{at}/11"}
    with WorkerProcess(environment, queues="search,embed", threads=4):
        assert embedded(environment, "a") == ["done"]
    with WorkerProcess(environment, queues="search,embed", threads=4):
        assert embedded(environment, "b") == ["done"]
    assert len(openai_server.seen("embeddings")) == 1  # the second process found it
    assert [key.startswith(b"qm:vector:c:") for key in apart.scan_iter()] == [True]
    assert [key for key in board.scan_iter() if key.startswith((b"qm:vector:", b"qm:chat:"))] == []
    FleetCaches(apart).erase("c")
    assert apart.dbsize() == 0


@pytest.mark.parametrize("how", all_at_night(["closed", "silent", "full", "refuses"], short=["silent", "refuses"]))
def test_jobs_are_answered_without_it(
    how: str, deployment: Deployment, board: redis.Redis, openai_server: OpenAIServer, valkey_url: str
) -> None:
    with ExitStack() as kept:
        listening = kept.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = listening.getsockname()[1]
        address = {
            "silent": f"redis://127.0.0.1:{port}/0", "refuses": valkey_url.replace("://", "://:wrong@", 1),
        }.get(how, f"redis://127.0.0.1:{port}/0")  # fmt: skip
        if how == "closed":
            listening.close()
        elif how == "full":
            full = kept.enter_context(refusing_board())
            full.client.config_set("maxmemory", 1)
            address = full.url
        environment = deployment.environment | {
            "REDIS_URL": valkey_url.removesuffix("/1") + "/10", "QUERYMILL_CACHE_URL": address,
        }  # fmt: skip
        worker = kept.enter_context(WorkerProcess(environment, queues="search,embed", threads=4))
        begun = time.monotonic()
        assert embedded(environment, "a", "b", "c") == ["done"] * 3
        assert time.monotonic() - begun < 30
        assert "QUERYMILL_CACHE_URL" in worker.log
        assert worker.log.count("QUERYMILL_CACHE_URL") <= 3
    assert openai_server.seen("embeddings")


@pytest.fixture(scope="module")
def refuser() -> Iterator[RefusingBoard]:
    with refusing_board() as running:
        yield running


@contextmanager
def away(cache: RefusingBoard, how: str) -> Iterator[None]:
    """Let the cache be away for a while."""
    if how == "frozen":
        cache.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            cache.process.send_signal(signal.SIGCONT)
    else:
        with refusing(cache, how):
            yield


@pytest.mark.parametrize(
    "how",
    all_at_night(["OOM", "frozen", "READONLY", "MISCONF", "MASTERDOWN"], short=["frozen"]),
)
def test_a_drop_waits_for_it_and_uses_up_no_attempt(
    how: str, refuser: RefusingBoard, deployment: Deployment, board: redis.Redis, openai_server: OpenAIServer,
    valkey_url: str,
) -> None:  # fmt: skip
    """What the cache holds of a forgotten text must go, so a drop is done only once it has."""
    environment = deployment.environment | {
        "REDIS_URL": valkey_url.removesuffix("/1") + "/10", "QUERYMILL_CACHE_URL": refuser.url,
        "QUERYMILL_MAX_ATTEMPTS": "1",
    }  # fmt: skip
    settings = Settings.model_validate({name.lower(): value for name, value in environment.items()})
    person, collection, key = Person.new(), f"drop-{how}", cache_key("vector", f"drop-{how}", "a text")
    with (
        WorkerProcess(environment, queues="search,embed,ingest", threads=4) as worker,
        Querymill(settings=settings) as mill,
    ):
        finished(mill, ingestion("reports", collection, document("reports", person)))
        refuser.client.set(f"{key}:lead", "3")  # another worker computes a value
        with away(refuser, how):
            job = mill.submit(dropping("reports", collection, ids=[document_id("reports", person)]))
            until(lambda: any(step.reason for step in job.picture().steps), within_s=30)
            (reason,) = {step.reason for step in job.picture().steps}
            assert reason.startswith("cache: ")
            assert "QUERYMILL_CACHE_URL" in reason
        assert job.result(timeout=60)
        assert "internal error" not in worker.log
    assert [name for name in refuser.client.scan_iter(match=f"qm:vector:{collection}:*") if name == key] == []
    assert refuser.client.exists(f"{key}:refused")
