"""The pool of connections to PostgreSQL: a busy one makes its callers wait, a dead server does not."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from querymill_workers.jobs.faults import Unavailable
from querymill_workers.postgres.connection import fetch_all, open_pool


def test_a_busy_pool_makes_its_callers_wait_however_many_they_are(database_url: str) -> None:
    with open_pool(database_url, max_size=2, timeout_s=1.0) as pool, ThreadPoolExecutor(50) as callers:
        fetch_all(pool, ("SELECT 1", {}))
        # Twenty-five turns of 0.1 s: most callers wait longer than the pool's time limit.
        asked = list(callers.map(lambda _: fetch_all(pool, ("SELECT pg_sleep(0.1)", {})), range(50)))
    assert len(asked) == 50


def test_a_server_that_is_away_is_told_within_the_time_limit() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"postgresql://127.0.0.1:{free.getsockname()[1]}/querymill"
    with open_pool(url, timeout_s=0.2) as pool:
        begun = time.monotonic()
        with pytest.raises(Unavailable, match="PoolTimeout"):
            fetch_all(pool, ("SELECT 1", {}))
        assert time.monotonic() - begun < 5
