"""A server of its own for what providers returned: values are there alone, and without it jobs are answered."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import redis

from querymill import Querymill
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.settings import Settings
from querymill_workers.inference.fleet_cache import FleetCaches
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment
from tests.fixtures.refusing_boards import refusing_board


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


@pytest.mark.parametrize("how", ["closed", "silent", "full", "refuses"])
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
