"""A search of one step is registered for with its submission: the end comes to a caller that asked for nothing else."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis

from querymill import AsyncQuerymill, Querymill
from querymill.client.events.early_ends import MOST
from querymill.client.events.reader import CHECK_S
from querymill.client.job import Job
from querymill_shared.board import ValkeyBoard, Verdict, keys
from querymill_shared.contracts.errors import UnknownJob
from querymill_shared.contracts.reports.search import ReportResult, ReportSearch, Routing
from querymill_shared.settings import Settings

COLLECTION = "filings"


def asking(query: str, **options: Any) -> ReportSearch:
    return ReportSearch(query=query, collection=COLLECTION, **options)


def done(job_id: str, *, query: str = "revenue?") -> Verdict:
    routing = Routing(documents=1, companies=(), period=None, whole_collection=True, reason="all")
    result = ReportResult(
        job_id=job_id, query=query, collection=COLLECTION, results=(), total=0, complete=True, routing=routing
    )
    return Verdict("done", result=result.model_dump_json())


def watchers(server: redis.Redis, job_id: str) -> Any:
    return server.hget(keys.of_job(job_id, "job")[0], "watch")


def scripts_run(server: redis.Redis) -> int:
    """How many scripts were run. What the server did not know yet is not counted."""
    stats: Any = server.info("commandstats")
    runs = stats.get("cmdstat_evalsha", {"calls": 0, "failed_calls": 0})
    return int(runs["calls"]) - int(runs["failed_calls"])


def heard_early(mill: Querymill | AsyncQuerymill) -> int:
    reader = mill._watch._reader
    return 0 if reader is None else len(reader._early._ends)


def wait_until(condition: Any) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def listen(mill: Querymill | AsyncQuerymill) -> None:
    """Start the reader, as a first wait does, and let it begin to listen."""
    with mill._watch.waiting("0404", lambda _: None, every_event=False):
        wait_until(lambda: mill._watch.register() is not None)


@pytest.fixture
def settings(quiet_valkey_url: str) -> Settings:
    return Settings(redis_url=quiet_valkey_url, querymill_result_ttl_s=30)


@pytest.fixture
def server(quiet_valkey_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(quiet_valkey_url, decode_responses=True) as client:
        yield client


@pytest.fixture
def mill(board: ValkeyBoard, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Querymill]:
    # Nothing is found by the check that comes every two seconds.
    monkeypatch.setattr("querymill.client.events.reader.CHECK_S", 6_000.0)
    board.add_collections("reports", [COLLECTION])
    with Querymill(settings=settings) as opened:
        listen(opened)
        yield opened


def test_a_caller_that_waits_asks_the_board_for_nothing(
    mill: Querymill, board: ValkeyBoard, server: redis.Redis
) -> None:
    jobs = [mill.submit(asking(f"question {number}")) for number in range(20)]
    server.config_resetstat()
    with ThreadPoolExecutor(len(jobs)) as callers:
        results = [callers.submit(job.result, 30) for job in jobs]
        wait_until(lambda: len(mill._watch._reader._waits) == len(jobs))  # type: ignore[union-attr]
        for job in jobs:
            board.settle(job.id, done(job.id))
        assert [result.result().job_id for result in results] == [job.id for job in jobs]
    assert scripts_run(server) == len(jobs)  # those that settle


def test_an_end_that_came_before_anybody_waited_is_not_asked_for(
    mill: Querymill, board: ValkeyBoard, server: redis.Redis
) -> None:
    job = mill.submit(asking("early"))
    board.settle(job.id, done(job.id))
    wait_until(lambda: heard_early(mill) == 1)
    server.config_resetstat()
    assert job.result(timeout=30).job_id == job.id
    assert scripts_run(server) == 0
    # An end is told once. Whoever waits again asks for it.
    assert job.result(timeout=30).job_id == job.id
    assert scripts_run(server) == 1


def test_coroutines_are_told_alike(board: ValkeyBoard, settings: Settings, server: redis.Redis) -> None:
    board.add_collections("reports", [COLLECTION])

    async def ask() -> None:
        async with AsyncQuerymill(settings=settings) as mill:
            await asyncio.to_thread(listen, mill)
            early, late = await mill.submit(asking("early")), await mill.submit(asking("late"))
            board.settle(early.id, done(early.id))
            await asyncio.to_thread(wait_until, lambda: heard_early(mill) == 1)
            server.config_resetstat()
            assert (await early.result(timeout=30)).job_id == early.id
            waiting = asyncio.create_task(late.result(timeout=30))
            await asyncio.sleep(0.05)
            board.settle(late.id, done(late.id))
            assert (await waiting).job_id == late.id
            assert scripts_run(server) == 1

    asyncio.run(ask())


def test_a_long_result_that_came_early_is_read_from_the_board(mill: Querymill, board: ValkeyBoard) -> None:
    job = mill.submit(asking("long"))
    board.settle(job.id, done(job.id, query="word " * 10_000))
    wait_until(lambda: heard_early(mill) == 1)
    assert len(job.result(timeout=30).query) == 50_000


def test_an_end_that_was_dropped_for_later_ones_is_asked_for(mill: Querymill, board: ValkeyBoard) -> None:
    first = mill.submit(asking("first"))
    board.settle(first.id, done(first.id))
    for number in range(MOST):
        job = mill.submit(asking(f"then {number}"))
        board.settle(job.id, done(job.id))
    wait_until(lambda: heard_early(mill) == MOST)
    assert first.result(timeout=30).job_id == first.id
    assert job.result(timeout=30).job_id == job.id


@pytest.mark.parametrize("ends", ["while nobody listens", "once somebody listens"])
def test_an_end_is_found_though_the_connections_broke(
    mill: Querymill, board: ValkeyBoard, server: redis.Redis, ends: str
) -> None:
    job = mill.submit(asking("cut"))
    own = server.client_id()
    for client in server.client_list():
        if int(client["id"]) != own:
            server.client_kill_filter(_id=client["id"])
    if ends == "once somebody listens":
        wait_until(lambda: mill._watch.register() is not None)
    board.settle(job.id, done(job.id))
    assert job.result(timeout=30).job_id == job.id


def test_who_follows_identical_work_is_registered_for_too(
    mill: Querymill, board: ValkeyBoard, server: redis.Redis
) -> None:
    leader, follower = (mill.submit(asking("the same")) for _ in range(2))
    assert not follower.is_new
    server.config_resetstat()
    with ThreadPoolExecutor(2) as callers:
        results = [callers.submit(job.result, 30) for job in (leader, follower)]
        wait_until(lambda: len(mill._watch._reader._waits) == 2)  # type: ignore[union-attr]
        assert board.settle(leader.id, done(leader.id))
        assert [result.result().job_id for result in results] == [leader.id, follower.id]
    assert scripts_run(server) <= 2  # the shared result of the follower is read by one


def test_an_idempotency_key_does_not_register_for_the_first_job(mill: Querymill, board: ValkeyBoard) -> None:
    first = mill.submit(asking("once"), idempotency_key="turn")
    board.settle(first.id, done(first.id))
    wait_until(lambda: heard_early(mill) == 1)
    again = mill.submit(asking("once"), idempotency_key="turn")
    assert again.id == first.id
    assert again.result(timeout=30) == first.result(timeout=30)


def test_nobody_is_registered_where_events_may_be_followed(mill: Querymill, server: redis.Redis) -> None:
    """All who are known to wait for a job of several steps must not seem to want its end only."""
    several = mill.submit(asking("several", multi_query=("synonym",)))
    assert watchers(server, several.id) is None
    one = mill.submit(asking("one"))
    assert watchers(server, one.id).endswith(":end")


def test_events_of_a_registered_job_come_all_the_same(mill: Querymill, board: ValkeyBoard) -> None:
    job: Job[ReportResult] = mill.submit(asking("followed"))
    with ThreadPoolExecutor(1) as callers:
        events = callers.submit(lambda: [event.type for event in job.events(timeout=30)])
        wait_until(lambda: len(mill._watch._reader._waits) == 1)  # type: ignore[union-attr]
        board.settle(job.id, done(job.id))
        assert events.result() == ["queued", "done"]
    assert job.result(timeout=30).job_id == job.id


def test_an_end_told_to_somebody_who_follows_the_events_is_there_for_the_result_too(
    mill: Querymill, board: ValkeyBoard, server: redis.Redis
) -> None:
    job = mill.submit(asking("followed, then asked for"))
    with ThreadPoolExecutor(1) as callers:
        events = callers.submit(lambda: [event.type for event in job.events(timeout=30)])
        wait_until(lambda: ":all" in (watchers(server, job.id) or ""))
        board.settle(job.id, done(job.id))
        assert events.result() == ["queued", "done"]
    server.config_resetstat()
    assert job.result(timeout=30).job_id == job.id
    assert scripts_run(server) == 1  # who is told of every event is not told the result


def test_an_end_that_nobody_told_is_found_by_looking(
    mill: Querymill, board: ValkeyBoard, server: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that looks was told nothing of the wait, and must not sleep until nobody has waited for long."""
    monkeypatch.setattr("querymill.client.events.reader.IDLE_S", 600.0)
    monkeypatch.setattr("querymill.client.events.reader.CHECK_S", CHECK_S)
    mill._watch.close()  # the next reader has these limits
    listen(mill)
    job = mill.submit(asking("told by an older release"))
    server.hdel(keys.of_job(job.id, "job")[0], "watch")
    board.settle(job.id, done(job.id))
    assert job.result(timeout=30).job_id == job.id


def test_an_early_end_is_not_kept_for_longer_than_seconds(
    mill: Querymill, board: ValkeyBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its result quotes may be forgotten meanwhile: then the board says so, and not this process's memory."""
    monkeypatch.setattr("querymill.client.events.early_ends.KEEP_S", 0.2)
    monkeypatch.setattr("querymill.client.events.reader.CHECK_S", CHECK_S)
    mill._watch.close()
    listen(mill)
    job = mill.submit(asking("forgotten"))
    board.settle(job.id, done(job.id))
    wait_until(lambda: heard_early(mill) == 1)
    board.release(job.id)  # by somebody else
    wait_until(lambda: heard_early(mill) == 0)
    with pytest.raises(UnknownJob):
        job.result(timeout=30)


def test_a_released_job_has_no_result_although_its_end_came_early(mill: Querymill, board: ValkeyBoard) -> None:
    job = mill.submit(asking("released"))
    board.settle(job.id, done(job.id))
    wait_until(lambda: heard_early(mill) == 1)
    assert job.release()
    with pytest.raises(UnknownJob):
        job.result(timeout=30)


def test_nobody_is_registered_before_somebody_listens(
    board: ValkeyBoard, settings: Settings, server: redis.Redis
) -> None:
    board.add_collections("reports", [COLLECTION])
    with Querymill(settings=settings) as mill:
        job = mill.submit(asking("the first of its process"))
        assert watchers(server, job.id) is None
        board.settle(job.id, done(job.id))
        assert job.result(timeout=30).job_id == job.id
