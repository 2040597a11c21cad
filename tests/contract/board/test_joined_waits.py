"""Callers that share one work wait for it through readers of their own."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from querymill.client.events.watch import Watch
from querymill.client.job import Job
from querymill_shared.board import Board, Outcome, ValkeyBoard, ValkeyWatchedBoard, Verdict, keys
from querymill_shared.contracts.errors import JobCancelled, JobFailed, UnknownJob
from querymill_shared.contracts.reports.search import ReportResult, ReportSearch, Routing
from querymill_shared.settings import Settings
from tests.fixtures.boards import claimed, open_watched, over_board

SEARCH = ReportSearch(query="revenue?", collection="filings", deadline=60)
WHOLE = ["queued", "stage_started", "stage_finished", "done"]


@pytest.fixture
def watch(board: Board, settings: Settings) -> Iterator[Watch]:
    watch = Watch(lambda: open_watched(board))
    yield watch
    watch.close()


def submitted(board: Board, watch: Watch, count: int) -> list[Job[Any]]:
    return [Job(board.submit(SEARCH)[0], over_board(board, watch)) for _ in range(count)]


def result_of(job_id: str) -> str:
    result = ReportResult(
        job_id=job_id, total=0, complete=True, query="revenue?", collection="filings", results=(),
        routing=Routing(documents=0, reason="none"),
    )  # fmt: skip
    return result.model_dump_json()


def work(board: Board, leader: str) -> None:
    held = claimed(board, leader)
    time.sleep(0.1)
    board.finish(held, Outcome())
    board.settle(leader, Verdict("done", result=result_of(leader)))


def test_every_caller_hears_all_of_it_and_gets_a_result_of_its_own(board: Board, watch: Watch) -> None:
    jobs = submitted(board, watch, 5)
    heard: dict[str, list[str]] = {}
    followers = [
        threading.Thread(target=lambda job=job: heard.update({job.id: [e.type for e in job.events(timeout=60)]}))
        for job in jobs
    ]
    for follower in followers:
        follower.start()
    work(board, jobs[0].id)
    assert [job.result(timeout=60).job_id for job in jobs] == [job.id for job in jobs]
    for follower in followers:
        follower.join()
    assert heard == {job.id: WHOLE for job in jobs}


def test_whoever_cancels_hears_that_and_the_others_get_the_result(board: Board, watch: Watch) -> None:
    first, second, third = submitted(board, watch, 3)
    timers = [threading.Timer(0.1, job.cancel) for job in (first, second)]
    for timer in timers:
        timer.start()
    for job in (first, second):
        with pytest.raises(JobCancelled):
            job.result(timeout=60)
        assert [event.type for event in job.events(timeout=60)][-1] == "cancelled"
        assert job.picture().record.state == "cancelled"
        assert job.release()
        with pytest.raises(UnknownJob):
            job.picture()
    work(board, first.id)
    assert third.result(timeout=60).job_id == third.id
    for timer in timers:
        timer.join()


def test_a_follower_whose_work_is_gone_is_unknown(board: ValkeyBoard, server: redis.Redis) -> None:
    leader, follower = (board.submit(SEARCH)[0] for _ in range(2))
    server.delete(*keys.of_job(leader, "job", "steps", "events"))
    with pytest.raises(UnknownJob):
        board.picture(follower)


def test_a_follower_takes_little_memory(board: ValkeyBoard, server: redis.Redis) -> None:
    leader = board.submit(SEARCH)[0]
    followers = [board.submit(SEARCH)[0] for _ in range(10)]
    board.finish(claimed(board, leader), Outcome())
    long = result_of(leader).replace('"none"', f'"{"x" * 100_000}"')
    board.settle(leader, Verdict("done", result=long))
    of_one = [key for key in server.scan_iter("*") if followers[0] in key]
    used = sum(int(str(server.memory_usage(key))) for key in of_one)
    assert used < 6_000
    assert len(board.result(followers[0]) or "") == len(long)


@pytest.mark.parametrize("key", ["deleted", "another program's"])
@pytest.mark.parametrize("verdict", [Verdict("failed", reason="why", code="lost"), Verdict("cancelled"), None])
def test_whoever_waits_hears_an_end_whose_event_is_gone(
    board: ValkeyBoard, server: redis.Redis, settings: Settings, key: str, verdict: Verdict | None
) -> None:
    leader, follower = (board.submit(SEARCH)[0] for _ in range(2))
    if verdict is None or verdict.state != "cancelled":
        board.settle(leader, verdict or Verdict("done", result=result_of(leader)))
    else:
        board.settle(follower, verdict)
        board.settle(leader, verdict)
    assert board.picture(follower).record.is_over
    for job_id in (leader, follower):
        (events,) = keys.of_job(job_id, "events")
        server.delete(events)
        if key != "deleted":
            server.set(events, "no stream")
    watch = Watch(lambda: ValkeyWatchedBoard.connect(settings))
    for job_id in (leader, follower):
        job: Job[Any] = Job(job_id, over_board(board, watch))
        if verdict is None:
            assert job.result(timeout=30).job_id == job_id
        else:
            raised = JobCancelled if verdict.state == "cancelled" else JobFailed
            with pytest.raises(raised, match=verdict.reason or "cancelled"):
                job.result(timeout=30)
    watch.close()


def test_who_joins_after_the_leaders_caller_has_left_is_told_what_the_others_were(board: Board) -> None:
    leader, _ = board.submit(SEARCH)
    second, _ = board.submit(SEARCH)
    board.settle(leader, Verdict("cancelled"))
    claimed(board, leader)
    third, starts_work = board.submit(SEARCH)
    assert not starts_work
    told = [[event.type for _, event in board.events(follower)] for follower in (second, third)]
    assert told == [["queued", "stage_started"]] * 2
