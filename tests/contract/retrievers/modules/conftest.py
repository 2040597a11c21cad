"""The stores of code documents: in memory, on PostgreSQL, on MongoDB's wire, and on a mongod if there is one."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest

from querymill_workers.postgres.connection import Pool, open_pool
from querymill_workers.retrievers.modules.ports import Modules
from querymill_workers.retrievers.modules.stores.memory import MemoryModules
from querymill_workers.retrievers.modules.stores.mongo import MongoModules
from querymill_workers.retrievers.modules.stores.postgres import PostgresModules
from querymill_workers.retrievers.modules.stores.register import MemoryRegister
from querymill_workers.stores import modules_in
from tests.fixtures.own_services import MONGODB_URI

#: The server that tests start, and a mongod where one is given.
MONGOS = ["mongo", *(["mongod"] if MONGODB_URI else [])]
STORES = ["memory", "postgres", *MONGOS]


def opened_store(name: str, request: pytest.FixtureRequest, opened: ExitStack) -> Any:
    """Return an empty store, which ``opened`` closes."""
    if name == "memory":
        return MemoryModules()
    if name == "postgres":
        return PostgresModules(opened.enter_context(open_pool(request.getfixturevalue("database_url"), max_size=4)))
    uri = MONGODB_URI if name == "mongod" else request.getfixturevalue("mongodb_uri")
    return opened.enter_context(closing(MongoModules(uri, MemoryRegister())))


@contextmanager
def modules_on(mongodb_uri: str, pool: Pool) -> Iterator[Modules]:
    """Choose the store as a worker does, and close it."""
    chosen = modules_in(mongodb_uri, pool)
    yield chosen
    if isinstance(chosen, MongoModules):
        chosen.close()


@pytest.fixture(scope="module", params=STORES)
def modules(request: pytest.FixtureRequest) -> Iterator[Modules]:
    with ExitStack() as opened:
        yield opened_store(request.param, request, opened)


@pytest.fixture(scope="module", params=MONGOS)
def mongo(request: pytest.FixtureRequest) -> Iterator[MongoModules]:
    with ExitStack() as opened:
        yield opened_store(request.param, request, opened)
