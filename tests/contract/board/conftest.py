"""Boards for the contract suite: each test runs on the one in memory and on the real server."""

from collections.abc import Iterator

import pytest
import redis

from querymill_embedded import Part, temporary_stack
from querymill_shared.board import Board, ValkeyBoard
from querymill_shared.settings import Settings
from tests.fixtures.boards import KINDS, empty_board


@pytest.fixture
def settings(valkey_url: str) -> Settings:
    return Settings(redis_url=valkey_url, querymill_result_ttl_s=30)


@pytest.fixture(params=KINDS)
def board(request: pytest.FixtureRequest, settings: Settings) -> Iterator[Board]:
    with empty_board(request.param, settings) as board:
        yield board


@pytest.fixture
def on_valkey(settings: Settings) -> Iterator[ValkeyBoard]:
    with empty_board("valkey", settings) as board:
        assert isinstance(board, ValkeyBoard)
        yield board


@pytest.fixture
def server(valkey_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(valkey_url, decode_responses=True) as client:
        yield client


@pytest.fixture(scope="session")
def quiet_valkey_url() -> Iterator[str]:
    """A server of its own, for tests that count what it is asked: workers of other tests ask the other one."""
    with temporary_stack(parts={Part.VALKEY}) as running:
        yield running.environment()["REDIS_URL"]
