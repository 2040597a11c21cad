"""The board loses its data under the workers: what is stored can be searched again within seconds."""

import time
from contextlib import suppress

import pytest
import redis

from querymill import Querymill, ReportSearch, UnknownCollection
from querymill_shared.contracts.reports.search import ReportResult
from tests.fixtures.deployment import Deployment


def patient_search(deployment: Deployment, search: ReportSearch, *, within_s: float) -> ReportResult:
    """Search as a fresh client, again and again while the collection is unknown."""
    until = time.monotonic() + within_s
    while True:
        try:
            with Querymill(settings=deployment.settings) as fresh:
                return fresh.submit(search).result(timeout=20)
        except UnknownCollection:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def test_a_fresh_client_finds_the_collections_of_a_board_that_was_emptied(
    deployment: Deployment, filings: str, mill: Querymill, board_client: redis.Redis
) -> None:
    with pytest.raises(UnknownCollection):
        mill.submit(ReportSearch(query="how many ships", collection="nowhere"))
    board_client.flushdb()
    search = ReportSearch(query="how many ships", collection=filings, deadline=10)
    assert patient_search(deployment, search, within_s=10).results
    # A client that was told that the collection is unknown asks again.
    board_client.flushdb()
    with Querymill(settings=deployment.settings) as early:
        with suppress(UnknownCollection):  # unless a worker was faster
            early.submit(search)
        patient_search(deployment, search, within_s=10)
        assert early.submit(search).result(timeout=20).results
