"""The list of jobs on a board that holds very many: what a page asks of the server, and that it leaves none out."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest
import redis

from querymill import MessageSearch, ReportSearch
from querymill_shared.board import ValkeyBoard, keys
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.settings import Settings

JOBS = 700
#: Commands for a page of 50 jobs: the 16 lists of jobs, the 16 of those that may be gone, a record and a question for
#: each job, and what the gateway asks anyway.
COMMANDS = 142


@pytest.fixture(scope="module")
def ids(quiet: Settings) -> Iterator[list[str]]:
    """The jobs of a board, newest first: a third of them in one millisecond."""
    with closing(ValkeyBoard.connect(quiet)) as board, redis.Redis.from_url(quiet.redis_url) as server:
        for kind in ("reports", "messages"):
            board.announce(kind, ["c"])
        made = []
        for number in range(JOBS):
            asked: JobRequest = (
                MessageSearch(query=f"q{number}", collection="c", deadline=500)
                if number % 50 == 0
                else ReportSearch(query=f"q{number}", collection="c", deadline=500)
            )
            job_id = board.submit(asked)[0]
            created = 2_000_000_000_000 + (number if number % 3 else 0)
            server.zadd(f"{keys.prefix(job_id[0])}recent", {job_id: created})
            made.append((created, job_id))
        yield [job_id for _, job_id in sorted(made, reverse=True)]
        server.flushdb()


def pages(http: httpx.Client, **asked: Any) -> Iterator[list[str]]:
    cursor: dict[str, str] = {}
    while True:
        page = http.get("/v1/jobs", params=asked | cursor).json()
        yield [job["job_id"] for job in page["jobs"]]
        if not page["next"]:
            return
        cursor = {"before": page["next"]}


@pytest.mark.parametrize("limit", [7, 50, 200])
def test_pages_leave_none_out_and_repeat_none(quiet_http: httpx.Client, ids: list[str], limit: int) -> None:
    assert [job_id for page in pages(quiet_http, limit=limit) for job_id in page] == ids


def test_a_filter_finds_all_that_fit(quiet_http: httpx.Client, ids: list[str]) -> None:
    found = [job_id for page in pages(quiet_http, kind="messages", limit=5) for job_id in page]
    assert len(found) == JOBS / 50
    assert found == [job_id for job_id in ids if job_id in set(found)]
    assert [page for page in pages(quiet_http, state="dead") if page] == []


def test_a_page_asks_for_no_more_than_it_shows(quiet: Settings, quiet_http: httpx.Client, ids: list[str]) -> None:
    assert ids[0] in quiet_http.get("/console/jobs").text  # and what is read once is read
    with redis.Redis.from_url(quiet.redis_url) as server, server.monitor() as monitor:
        assert quiet_http.get("/console/jobs").status_code == 200
        server.echo("over")
        told: Any = iter(monitor.listen())
        seen = []
        for command in told:
            if command["command"] == "ECHO over":
                break
            if command["client_type"] != "lua" and command["db"] == server.connection_pool.connection_kwargs["db"]:
                seen.append(command["command"].split(" ")[0])
    assert len(seen) <= COMMANDS, seen
