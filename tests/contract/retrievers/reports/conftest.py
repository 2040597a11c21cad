"""Both stores of reports, and a collection of its own for each test."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.reports.stores.memory import MemoryReports
from querymill_workers.retrievers.reports.stores.memory_life import MemoryReportLife
from querymill_workers.retrievers.reports.stores.postgres import PostgresReports
from querymill_workers.retrievers.reports.stores.postgres_life import PostgresReportLife
from tests.fixtures.reports import Stores


@pytest.fixture(params=["memory", "postgres"])
def stores(request: pytest.FixtureRequest) -> Iterator[Stores]:
    if request.param == "memory":
        reports = MemoryReports()
        yield Stores(reports, MemoryReportLife(reports))
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool:
        yield Stores(PostgresReports(pool), PostgresReportLife(pool))


@pytest.fixture
def collection() -> str:
    return f"c{uuid4().hex}"
