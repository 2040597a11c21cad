"""Waiting for jobs through the one reader of a client."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from querymill import IngestReports, IngestReportsResult
from querymill.client.events.watch import Watch
from querymill.client.job import Job
from querymill_shared.board import Board, Outcome, ValkeyBoard, ValkeyWatchedBoard, Verdict, keys
from querymill_shared.board.board_client import cluster_of
from querymill_shared.board.connections import open_commands
from querymill_shared.contracts.errors import ClientClosed, UnknownJob
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.ingest import IngestedDocument
from querymill_shared.contracts.reports.ingest import Report
from querymill_shared.settings import Settings
from tests.fixtures.boards import claimed, on_both_servers, open_watched, over_board
from tests.fixtures.tallies import until

REPORT = Report.model_validate({"sha1": "a", "title": "t", "company": "c", "pages": [{"page": 1, "text": "x"}]})
INGEST = IngestReports(collection="filings", documents=(REPORT,))
INGESTED = IngestedDocument(document="a", outcome="ingested", total=1)
RESULT = IngestReportsResult(job_id="j", collection="filings", total=1, complete=True, documents=(INGESTED,))
DONE = Verdict("done", result=RESULT.model_dump_json())
WHOLE = ["queued", "stage_started", "progress", "progress", "progress", "stage_finished", "done"]


@pytest.fixture
def opened(settings: Settings) -> Iterator[Callable[[Board], Watch]]:
    """Open a reader of a board; every one is closed afterwards."""
    watches: list[Watch] = []

    def open_one(board: Board) -> Watch:
        watches.append(Watch(lambda: open_watched(board)))
        return watches[-1]

    yield open_one
    for watch in watches:
        watch.close()


def work(board: Board, job_id: str, *, pause_s: float = 0.0) -> None:
    """Do what a worker does, at its own pace."""
    (name,) = INGEST.steps
    held = claimed(board, job_id, name)
    for done in range(1, 4):
        board.append_event(job_id, Progress(stage=name, done=done, total=3), held=held)
        time.sleep(pause_s)
    board.finish(held, Outcome())
    board.settle(job_id, DONE)


def types(watch: Watch, job_id: str, *, timeout: float = 60) -> list[str]:
    return [told.type for told in watch.events(job_id, until=time.monotonic() + timeout)]


@on_both_servers
def test_a_hundred_followers_see_every_event_of_a_job_and_as_many_its_result(
    board: Board, opened: Callable[[Board], Watch]
) -> None:
    watch, (job_id, _) = opened(board), board.submit(INGEST)
    job: Job[IngestReportsResult] = Job(job_id, over_board(board, watch))
    with ThreadPoolExecutor(200) as callers:
        followed = [callers.submit(types, watch, job_id) for _ in range(100)]
        awaited = [callers.submit(job.result, 60) for _ in range(100)]
        work(board, job_id, pause_s=0.02)
        assert [future.result() for future in followed] == [WHOLE] * 100
        assert [future.result() for future in awaited] == [RESULT] * 100


def test_many_jobs_are_waited_for_at_once_and_each_caller_gets_its_own(
    board: Board, opened: Callable[[Board], Watch]
) -> None:
    watch = opened(board)
    jobs = [board.submit(INGEST)[0] for _ in range(300)]
    with ThreadPoolExecutor(300) as callers:
        waits = [callers.submit(watch.end, job_id, until=time.monotonic() + 60) for job_id in jobs]
        for job_id in reversed(jobs):
            board.settle(job_id, Verdict("failed", reason=job_id))
        for job_id, wait in zip(jobs, waits, strict=True):
            assert job_id in wait.result().told[-1].body


@on_both_servers
def test_coroutines_wait_like_threads(board: Board, opened: Callable[[Board], Watch]) -> None:
    watch = opened(board)
    jobs = [board.submit(INGEST)[0] for _ in range(100)]

    async def follow(job_id: str) -> list[str]:
        return [told.type async for told in watch.events_async(job_id, until=time.monotonic() + 90)]

    async def wait_for_all() -> None:
        ends = [asyncio.create_task(watch.end_async(job_id, until=time.monotonic() + 90)) for job_id in jobs]
        follows = [asyncio.create_task(follow(job_id)) for job_id in jobs]
        await asyncio.sleep(0.05)
        for job_id in jobs:
            await asyncio.to_thread(work, board, job_id)
        assert {end.result for end in await asyncio.gather(*ends)} == {DONE.result}
        assert await asyncio.gather(*follows) == [WHOLE] * 100
        with pytest.raises(UnknownJob):
            await watch.end_async("0404", until=None)
        with pytest.raises(TimeoutError, match="is still running"):
            await watch.end_async(board.submit(INGEST)[0], until=time.monotonic() + 0.05)

    asyncio.run(wait_for_all())


def test_an_event_loop_that_ends_before_its_job_disturbs_nobody(board: Board, opened: Callable[[Board], Watch]) -> None:
    watch, (job_id, _) = opened(board), board.submit(INGEST)

    async def leave() -> None:
        waiting = watch.events_async(job_id, until=None)
        await anext(waiting)

    asyncio.run(leave())
    work(board, job_id)
    assert watch.end(job_id, until=time.monotonic() + 30).result == DONE.result


def test_a_job_that_vanishes_is_not_waited_for(board: Board, opened: Callable[[Board], Watch]) -> None:
    watch = opened(board)
    with pytest.raises(UnknownJob):
        watch.end("0404", until=None)
    job_id, _ = board.submit(INGEST)
    board.settle(job_id, DONE)
    board.release(job_id)
    with pytest.raises(UnknownJob):
        types(watch, job_id)


@on_both_servers
def test_closing_ends_every_wait_and_a_later_one_begins_anew(board: Board, opened: Callable[[Board], Watch]) -> None:
    watch, (job_id, _) = opened(board), board.submit(INGEST)
    with ThreadPoolExecutor(2) as callers:
        follows, ends = callers.submit(types, watch, job_id), callers.submit(watch.end, job_id, until=None)
        until(lambda: watch._reader is not None and sum(map(len, watch._reader._waits.values())) == 2)
        begun = time.monotonic()
        watch.close()
        with pytest.raises(ClientClosed, match=job_id):
            follows.result(timeout=20)
        with pytest.raises(ClientClosed, match=job_id):
            ends.result(timeout=20)
    assert time.monotonic() - begun < 20
    work(board, job_id)
    assert types(watch, job_id) == WHOLE


def test_the_threads_end_when_nobody_waits(
    board: Board, opened: Callable[[Board], Watch], monkeypatch: pytest.MonkeyPatch
) -> None:
    def reading() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name.startswith("querymill-l")]

    monkeypatch.setattr("querymill.client.events.reader.IDLE_S", 0.1)
    before = len(reading())
    watch, (job_id, _) = opened(board), board.submit(INGEST)
    with pytest.raises(TimeoutError):
        watch.end(job_id, until=time.monotonic() + 0.05)
    until = time.monotonic() + 30
    while len(reading()) > before and time.monotonic() < until:
        time.sleep(0.02)
    assert len(reading()) == before
    work(board, job_id)
    assert types(watch, job_id) == WHOLE


def test_a_wait_ends_in_time_though_the_server_is_silent(
    board: ValkeyBoard, settings: Settings, server: redis.Redis, opened: Callable[[Board], Watch]
) -> None:
    watch, (job_id, _) = opened(board), board.submit(INGEST)
    server.client_pause(6_000)
    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        watch.end(job_id, until=begun + 0.3)
    assert 0.3 <= time.monotonic() - begun < 5
    with redis.Redis.from_url(settings.redis_url, socket_timeout=60) as patient:
        patient.ping()  # the next test finds the server as it was


def cut(server: redis.Redis) -> None:
    """Break every connection but this one."""
    cluster = cluster_of(server)
    for each in [server] if cluster is None else cluster.primaries():
        own = each.client_id()
        for client in each.client_list(_type="normal"):
            if int(client["id"]) != own:
                each.client_kill_filter(_id=client["id"])


def test_events_come_once_and_in_order_though_the_connections_break(
    board: ValkeyBoard, settings: Settings, server: redis.Redis, opened: Callable[[Board], Watch]
) -> None:
    watch, (job_id, _) = opened(board), board.submit(INGEST)
    with ThreadPoolExecutor(6) as callers:
        followed = [callers.submit(types, watch, job_id) for _ in range(3)]
        awaited = [callers.submit(watch.end, job_id, until=time.monotonic() + 90) for _ in range(2)]
        (name,) = INGEST.steps
        for done in range(1, 9):
            time.sleep(0.05)
            if done % 2:
                cut(server)
            # A worker of its own, whose connections are not cut.
            with open_commands(settings.redis_url) as client:
                ValkeyBoard(client, settings).append_event(job_id, Progress(stage=name, done=done, total=8))
        cut(server)
        with open_commands(settings.redis_url) as client:
            ValkeyBoard(client, settings).settle(job_id, DONE)
        assert [future.result() for future in followed] == [["queued", *["progress"] * 8, "done"]] * 3
        assert {future.result().result for future in awaited} == {DONE.result}


def test_what_no_watcher_was_told_is_found_by_looking(
    board: ValkeyBoard, server: redis.Redis, opened: Callable[[Board], Watch]
) -> None:
    watch, (job_id, _) = opened(board), board.submit(INGEST)
    (job,) = keys.of_job(job_id, "job")
    with ThreadPoolExecutor(2) as callers:
        followed = callers.submit(types, watch, job_id)
        awaited = callers.submit(watch.end, job_id, until=time.monotonic() + 90)
        while not server.hget(job, "watch"):
            time.sleep(0.01)
        (name,) = INGEST.steps
        board.append_event(job_id, Progress(stage=name, done=1, total=9))
        watchers = str(server.hget(job, "watch"))
        server.hdel(job, "watch")  # nobody is told what comes now
        board.append_event(job_id, Progress(stage=name, done=2, total=9))
        server.hset(job, "watch", watchers)
        board.append_event(job_id, Progress(stage=name, done=3, total=9))
        server.hdel(job, "watch")
        board.settle(job_id, DONE)
        assert followed.result() == ["queued", *["progress"] * 3, "done"]
        assert awaited.result().result == DONE.result


def test_a_job_that_expires_unseen_is_not_waited_for_for_ever(
    board: ValkeyBoard, server: redis.Redis, opened: Callable[[Board], Watch]
) -> None:
    watch, (job_id, _) = opened(board), board.submit(INGEST)
    with ThreadPoolExecutor(1) as callers:
        wait = callers.submit(watch.end, job_id, until=None)
        time.sleep(0.1)
        server.flushdb()
        with pytest.raises(UnknownJob):
            wait.result(timeout=20)


def test_a_board_that_is_away_from_the_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("querymill.client.events.reader.PATIENCE_S", 0.3)
    nobody = Settings(redis_url="redis://127.0.0.1:1/0")
    watch = Watch(lambda: ValkeyWatchedBoard.connect(nobody))
    with pytest.raises(redis.ConnectionError):
        watch.end("0404", until=time.monotonic() + 60)
    watch.close()


@pytest.mark.one_server
def test_a_wait_that_the_server_refuses_is_an_error_at_once(server: redis.Redis, settings: Settings) -> None:
    server.execute_command("ACL", "SETUSER", "stranger", "on", ">secret", "~*", "+ping")  # type: ignore[no-untyped-call]
    address = settings.redis_url.rpartition("@")[2]
    refused = settings.model_copy(update={"redis_url": f"redis://stranger:secret@{address}"})
    watch = Watch(lambda: ValkeyWatchedBoard.connect(refused))
    begun = time.monotonic()
    with pytest.raises(redis.ResponseError):
        watch.end("0404", until=begun + 20)
    assert time.monotonic() - begun < 5
    watch.close()
    server.execute_command("ACL", "DELUSER", "stranger")  # type: ignore[no-untyped-call]


def test_a_wait_fails_alone_if_its_job_cannot_be_read(
    board: ValkeyBoard, server: redis.Redis, opened: Callable[[Board], Watch]
) -> None:
    watch, (job_id, _) = opened(board), board.submit(INGEST)
    (broken,) = keys.of_job("0bad", "job")
    server.set(broken, "no hash")
    with ThreadPoolExecutor(2) as callers:
        wait = callers.submit(watch.end, "0bad", until=time.monotonic() + 90)
        beside = callers.submit(types, watch, job_id)
        with pytest.raises(redis.ResponseError):
            wait.result()
        work(board, job_id)
        assert beside.result() == WHOLE


#: Waits, forks, and waits in both processes.
FORKING = """
import os, sys, time
from querymill import Querymill, Settings
mill = Querymill(settings=Settings(redis_url=sys.argv[1]))
first, second = (mill.job(job_id) for job_id in sys.argv[2:])
first.result(timeout=60)
child = os.fork()
second.result(timeout=60)
if child == 0:
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
mill.close()
"""


def test_a_forked_process_has_a_reader_of_its_own(board: ValkeyBoard, settings: Settings) -> None:
    first, second = (board.submit(INGEST)[0] for _ in range(2))
    board.settle(first, DONE)
    command = [sys.executable, "-W", "ignore", "-c", FORKING, settings.redis_url, first, second]
    with subprocess.Popen(command) as process:
        time.sleep(2)
        board.settle(second, DONE)
        assert process.wait(120) == 0
