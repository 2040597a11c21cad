"""What the tests of each retriever's stores begin with."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from querymill_workers.dispatch.ports import Ports
from tests.fixtures.document_suite import ports_on


@pytest.fixture(params=["memory", "postgres"])
def ports(request: pytest.FixtureRequest) -> Iterator[Ports]:
    """The stores in memory, and those on PostgreSQL."""
    yield from ports_on(request.param, request)


@pytest.fixture
def collection() -> str:
    """The name of a collection that no other test has."""
    return f"c{uuid4().hex}"
