"""What others write onto the board of a running fleet: the job beside it ends in time, and so does the one it hit."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from querymill import IngestReports, Querymill, ReportSearch
from querymill_shared.board import ValkeyBoard, keys
from querymill_shared.contracts.errors import JobFailed
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.reports.ingest import Report
from tests.fixtures.deployment import Deployment

DEADLINE_S = 3.0


@pytest.fixture
def board(deployment: Deployment) -> Iterator[ValkeyBoard]:
    opened = ValkeyBoard.connect(deployment.settings)
    yield opened
    opened.close()


def poison_a_member(server: redis.Redis, job_id: str) -> None:
    server.zadd(keys.prefix(job_id[0]) + "due", {"poison": 1, "a b c": 1})


def replace_a_due_list(server: redis.Redis, job_id: str) -> None:
    shard = keys.SHARDS[(keys.SHARDS.index(job_id[0]) + 1) % 16]
    server.set(keys.prefix(shard) + "due", "no list")


def take_the_elections(server: redis.Redis, _: str) -> None:
    for shard in keys.SHARDS:
        server.set(keys.sweeper(shard), "nobody")
    server.set(keys.SWEEPERS, "no hash")


@pytest.mark.parametrize(
    "poison",
    [
        poison_a_member,
        *(pytest.param(poison, marks=pytest.mark.nightly) for poison in (replace_a_due_list, take_the_elections)),
    ],
)
def test_a_job_whose_bell_was_lost_is_answered_beside_poison(
    board: ValkeyBoard,
    mill: Querymill,
    filings: str,
    board_client: redis.Redis,
    poison: Callable[[redis.Redis, str], None],
) -> None:
    # On the board without a bell: only a sweep makes it ring.
    job_id, _ = board.submit(ReportSearch(query="how many ships", collection=filings, deadline=15))
    poison(board_client, job_id)
    assert mill.job(job_id).result(timeout=15).complete


def raise_the_version(request: dict[str, Any]) -> str:
    return json.dumps(request | {"version": 99})


def change_the_kind(request: dict[str, Any]) -> str:
    return json.dumps(request | {"kind": "songs"})


def cut_the_text(request: dict[str, Any]) -> str:
    return json.dumps(request)[:-9]


MANGLED = [raise_the_version, change_the_kind, cut_the_text]


def submit_mangled(
    board: ValkeyBoard, server: redis.Redis, request: JobRequest, mangle: Callable[[dict[str, Any]], str]
) -> str:
    """Put a job on the board without a bell, and its request in a form that this release does not read."""
    job_id, _ = board.submit(request)
    (key,) = keys.of_job(job_id, "request")
    server.set(key, mangle(request.model_dump(mode="json")))
    return job_id


@pytest.mark.parametrize(
    "mangle", [raise_the_version, *(pytest.param(mangle, marks=pytest.mark.nightly) for mangle in MANGLED[1:])]
)
def test_a_search_that_no_worker_can_read_fails_at_its_deadline(
    board: ValkeyBoard,
    mill: Querymill,
    filings: str,
    board_client: redis.Redis,
    mangle: Callable[[dict[str, Any]], str],
) -> None:
    begun = time.monotonic()
    search = ReportSearch(query="how many ships", collection=filings, deadline=DEADLINE_S)
    job_id = submit_mangled(board, board_client, search, mangle)
    with pytest.raises(JobFailed, match="no worker of this fleet can read its request"):
        mill.job(job_id).result(timeout=15)
    assert time.monotonic() - begun >= DEADLINE_S - 0.5
    assert board_client.ttl(keys.of_job(job_id, "job")[0]) > 0


@pytest.mark.parametrize(
    "mangle", [*(pytest.param(mangle, marks=pytest.mark.nightly) for mangle in MANGLED[:2]), cut_the_text]
)
def test_an_ingestion_waits_for_a_worker_that_can_read_it(
    deployment: Deployment,
    board: ValkeyBoard,
    mill: Querymill,
    filings: str,
    board_client: redis.Redis,
    mangle: Callable[[dict[str, Any]], str],
) -> None:
    report = Report.model_validate({"sha1": "z", "title": "t", "company": "c", "pages": [{"page": 1, "text": "x"}]})
    request = IngestReports(collection=filings, documents=(report,))
    job_id = submit_mangled(board, board_client, request, mangle)
    deployment.ring(job_id, request)
    with pytest.raises(TimeoutError):
        mill.job(job_id).result(timeout=1.5)
    assert all(step.attempt == 0 for step in board.picture(job_id).steps)
    # Stands for a worker of a newer release that joins.
    board_client.set(keys.of_job(job_id, "request")[0], request.model_dump_json())
    deployment.ring(job_id, request)
    assert mill.job(job_id).result(timeout=15).complete
