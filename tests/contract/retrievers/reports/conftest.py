"""Both stores of reports, and a collection of its own for each test."""

from collections.abc import Iterator

import pytest

from querymill_workers.postgres.connection import open_pool
from tests.fixtures.reports import Stores, stores_in, stores_in_memory


@pytest.fixture(params=["memory", "postgres"])
def stores(request: pytest.FixtureRequest) -> Iterator[Stores]:
    if request.param == "memory":
        yield stores_in_memory()
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool:
        yield stores_in(pool)
