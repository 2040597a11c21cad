"""A gateway for the tests of a file, without keys, on the servers that all tests share."""

from collections.abc import Iterator

import httpx
import pytest
import redis

from querymill_shared.board import ValkeyBoard
from querymill_shared.settings import Settings
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S, GatewayHere


@pytest.fixture(scope="module")
def gateway(deployment: Deployment) -> Iterator[str]:
    with GatewayHere(deployment.settings) as here:
        yield here.url


@pytest.fixture(scope="module")
def quiet(deployment: Deployment) -> Iterator[Settings]:
    """A board without workers: on it jobs do what a test says."""
    settings = deployment.settings.model_copy(
        update={"redis_url": deployment.settings.redis_url.removesuffix("/2") + "/6"}
    )
    with redis.Redis.from_url(settings.redis_url) as server:
        server.flushdb()
        yield settings
        server.flushdb()


@pytest.fixture
def board(quiet: Settings) -> Iterator[ValkeyBoard]:
    """The board without workers."""
    board = ValkeyBoard.connect(quiet)
    yield board
    board.close()


@pytest.fixture(scope="module")
def quiet_gateway(quiet: Settings) -> Iterator[GatewayHere]:
    with GatewayHere(quiet) as gateway:
        yield gateway


@pytest.fixture
def quiet_http(quiet_gateway: GatewayHere) -> Iterator[httpx.Client]:
    """A client of the gateway to that board."""
    with httpx.Client(base_url=quiet_gateway.url, timeout=PATIENCE_S) as client:
        yield client


@pytest.fixture
def http(gateway: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=gateway, timeout=PATIENCE_S) as client:
        yield client
