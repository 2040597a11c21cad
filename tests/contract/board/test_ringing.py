"""Submitting and ringing in one round trip, on a real Valkey that is board and broker."""

import asyncio
import logging
from collections.abc import Callable, Iterator

import pytest
import redis

from querymill_shared.board import AsyncValkeyBoard, ValkeyBoard, keys
from querymill_shared.board.submitting import Submitted
from querymill_shared.contracts.errors import IdempotencyConflict, Overloaded
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.submit_options import PLAIN, SubmitOptions
from querymill_shared.queues import Queue, task_of
from querymill_shared.settings import Settings
from querymill_workers.jobs.bell_codec import Rung, heard
from tests.fixtures.boards import empty_board

pytestmark = pytest.mark.one_server

SEARCH = ReportSearch(query="revenue?", collection="filings", hyde=True, multi_query=("synonym",), deadline=5)
Submit = Callable[..., Submitted]


@pytest.fixture
def settings(valkey_url: str) -> Settings:
    return Settings(redis_url=valkey_url)


@pytest.fixture
def board(settings: Settings) -> Iterator[ValkeyBoard]:
    with empty_board(settings) as board:
        yield board


@pytest.fixture
def server(valkey_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(valkey_url) as client:
        yield client


@pytest.fixture(params=["sync", "async"])
def submit(request: pytest.FixtureRequest, board: ValkeyBoard, settings: Settings) -> Submit:
    if request.param == "sync":
        return board.submit_and_ring

    def submit(asked: ReportSearch, options: SubmitOptions = PLAIN) -> Submitted:
        async def run() -> Submitted:
            opened = AsyncValkeyBoard.connect(settings)
            try:
                return await opened.submit(asked, options, rings=True)
            finally:
                await opened.close()

        return asyncio.run(run())

    return submit


def rung(server: redis.Redis, queue: Queue) -> list[tuple[str, str]]:
    """What a worker hears, in its order."""
    found = []
    while (element := server.rpop(queue.value)) is not None:
        bell = heard(element, task_of(queue))  # type: ignore[arg-type]  # bytes
        assert isinstance(bell, Rung)
        found.append((bell.job_id, bell.step))
    return found


def test_a_job_is_on_the_board_and_one_bell_a_queue_is_rung_for_it(
    board: ValkeyBoard, submit: Submit, server: redis.Redis
) -> None:
    submitted = submit(SEARCH)
    job_id = submitted.job_id
    assert submitted.starts_work
    assert board.picture(job_id).record.state == "queued"
    assert rung(server, Queue.SEARCH) == [(job_id, "original")]
    # One bell a queue: a worker that hears it claims the other steps of the queue too.
    assert rung(server, Queue.EXPAND) == [(job_id, "hyde")]


def test_a_server_that_forgot_the_script_gets_it_again(board: ValkeyBoard, submit: Submit, server: redis.Redis) -> None:
    server.script_flush()
    job_id = submit(SEARCH).job_id
    assert board.claim(job_id, "original") is not None
    assert rung(server, Queue.SEARCH) == [(job_id, "original")]


def test_an_idempotency_key_returns_the_first_job(submit: Submit, server: redis.Redis) -> None:
    first = submit(SEARCH, SubmitOptions(idempotency_key="turn")).job_id
    assert submit(SEARCH, SubmitOptions(idempotency_key="turn")) == Submitted(first, is_replayed=True)
    with pytest.raises(IdempotencyConflict):
        submit(SEARCH.model_copy(update={"query": "soup"}), SubmitOptions(idempotency_key="turn"))
    # Only the new job is rung for.
    assert rung(server, Queue.SEARCH) == [(first, "original")]


def test_a_refused_job_is_not_rung_for(submit: Submit, server: redis.Redis) -> None:
    for shard in keys.SHARDS:
        server.hset(keys.backlog(shard), mapping=dict.fromkeys(Queue, 60_000))
        server.pexpire(keys.backlog(shard), 3_000)
    with pytest.raises(Overloaded):
        submit(SEARCH)
    assert rung(server, Queue.SEARCH) == []


def test_a_bell_that_cannot_be_pushed_does_not_cost_the_job(
    board: ValkeyBoard, submit: Submit, server: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    server.set("search", "no list")  # its other queue is as it should be
    with caplog.at_level(logging.WARNING):
        submitted = submit(SEARCH)
    job_id = submitted.job_id
    assert submitted.starts_work
    assert board.picture(job_id).record.state == "queued"
    assert rung(server, Queue.EXPAND) == [(job_id, "hyde")]
    assert f"job {job_id} is on the board, 1 of its bells are not rung yet" in caplog.text
