"""The board of the contract suite, on a real server, and each night on a cluster of six, too.

Where a test says so, it runs on the simulated server as well.
"""

from collections.abc import Iterator

import pytest
import redis

from querymill_embedded import Stack, StackPart, temporary_stack
from querymill_shared.board import ValkeyBoard
from querymill_shared.board.connections import open_commands
from querymill_shared.settings import Settings
from tests.fixtures.boards import REAL, empty_board, simulated_board
from tests.fixtures.valkey_clusters import ValkeyCluster


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what is not about one server on a cluster, too."""
    if "valkey_url" in metafunc.fixturenames:
        is_of_one = any(mark.name == "one_server" for mark in metafunc.definition.iter_markers())
        cluster = pytest.param("cluster", marks=pytest.mark.nightly)
        kinds = ["server"] if is_of_one else ["server", cluster]
        metafunc.parametrize("valkey_url", kinds, indirect=True, scope="session")


@pytest.fixture(scope="session")
def valkey_url(request: pytest.FixtureRequest) -> str:
    """A database that each test may empty: of the server that all tests share, or of a cluster."""
    if request.param == "server":
        stack: Stack = request.getfixturevalue("stack")
        return stack.environment()["REDIS_URL"].removesuffix("/0") + "/1"
    cluster: ValkeyCluster = request.getfixturevalue("valkeys")
    return cluster.url


@pytest.fixture
def settings(request: pytest.FixtureRequest, valkey_url: str) -> Settings:
    """The settings of the board: `with_settings` changes them for a test."""
    return Settings(redis_url=valkey_url, **{"querymill_result_ttl_s": 60.0} | getattr(request, "param", {}))


@pytest.fixture
def board(request: pytest.FixtureRequest, settings: Settings) -> Iterator[ValkeyBoard]:
    """An empty board: see `on_both_servers`."""
    if getattr(request, "param", REAL) == REAL:
        with empty_board(settings) as board:
            yield board
    else:
        yield simulated_board(settings)


@pytest.fixture
def server(valkey_url: str) -> Iterator[redis.Redis]:
    with open_commands(valkey_url) as client:
        yield client


@pytest.fixture(scope="session")
def quiet_valkey_url() -> Iterator[str]:
    """A server of its own, for tests that count what it is asked: workers of other tests ask the other one."""
    with temporary_stack(parts={StackPart.VALKEY}) as running:
        yield running.environment()["REDIS_URL"]
