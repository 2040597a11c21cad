"""The threads of a worker process, and how one bell sets several of them to work."""

import threading
import time
from collections import Counter

import pytest

from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.queues import Queue
from querymill_workers.dispatch.step_pool import StepPool
from querymill_workers.jobs.bell import Bell
from tests.fakes.ports import memory_ports
from tests.fixtures.boards import new_board

SEARCH = ReportSearch(query="q", collection="filings", hyde=True, multi_query=("synonym", "variant"), deadline=30)
EXPANDING = ("hyde", "synonym", "variant")


def step_pool_of(threads: int) -> StepPool:
    step_pool = StepPool()
    step_pool.widen(threads)
    return step_pool


def answered(step_pool: StepPool) -> tuple[ValkeyBoard, str, list[Bell]]:
    """Answer one bell of a job with three steps on its queue."""
    board, rung = new_board(), list[Bell]()
    job_id, _ = board.submit(SEARCH)
    step_pool.answer_here(Bell(job_id, "hyde", Queue.EXPAND), memory_ports(board=board), rung.extend)
    assert step_pool.dismiss(within_s=20)
    return board, job_id, rung


def test_one_bell_sets_as_many_threads_to_work_as_are_free() -> None:
    board, job_id, rung = answered(step_pool_of(8))
    assert {step.name for step in board.picture(job_id).steps if step.attempt} == set(EXPANDING)
    assert rung == []


def test_what_finds_no_thread_is_rung_on() -> None:
    board, job_id, rung = answered(step_pool_of(2))
    assert {step.name for step in board.picture(job_id).steps if step.attempt} == {"hyde", "synonym"}
    assert rung == [Bell(job_id, "variant", Queue.EXPAND)]


def test_a_process_of_one_thread_runs_one_step_a_bell() -> None:
    board, job_id, rung = answered(StepPool())
    assert [step.name for step in board.picture(job_id).steps if step.attempt] == ["hyde"]
    assert rung == [Bell(job_id, "synonym", Queue.EXPAND)]


def test_threads_are_free_again_whatever_their_work_raised() -> None:
    step_pool, ended = step_pool_of(2), threading.Semaphore(0)

    def fail() -> None:
        ended.release()
        raise ValueError("broken")

    for _ in range(20):
        assert step_pool.wait_until_free(20) > 0
        step_pool.start(fail)
        assert ended.acquire(timeout=20)
    assert step_pool.dismiss(within_s=20)
    assert step_pool.busy == 0


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_listeners_that_share_a_pool_start_no_more_than_it_has_threads(threads: int) -> None:
    step_pool, lock, running, most, started = step_pool_of(threads), threading.Lock(), [0], [0], Counter[bool]()

    def work() -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.0005)
        with lock:
            running[0] -= 1

    def listen() -> None:
        for _ in range(200):
            if step_pool.wait_until_free(20):
                started.update([step_pool.start_if_free(work)])

    listeners = [threading.Thread(target=listen) for _ in range(3)]
    for listener in listeners:
        listener.start()
    for listener in listeners:
        listener.join(60)
    assert step_pool.dismiss(within_s=20)
    assert most[0] <= threads
    assert started[True] > 200


def test_a_process_that_ends_does_not_wait_for_ever() -> None:
    step_pool, may_end = step_pool_of(1), threading.Event()

    def wait() -> None:
        may_end.wait(20)

    step_pool.start(wait)
    assert step_pool.wait_until_free(0.05) == 0
    assert not step_pool.dismiss(within_s=0.05)
    may_end.set()
    assert step_pool.dismiss(within_s=20)


def test_a_pool_that_was_dismissed_begins_nothing_more() -> None:
    """What a process claimed after it put back what it held would wait for the end of its lease."""
    step_pool = step_pool_of(8)
    assert step_pool.dismiss(within_s=1)
    assert not step_pool.start_if_free(lambda: None)
    assert step_pool.wait_until_free(0) == 0
    assert step_pool.spare_slots_of("acme") == 0
