"""One sign of life for all the steps of a process: beats, burials, former lives."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import redis

from querymill_shared.board import Claim, ValkeyBoard, WorkerLife
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.settings import Settings
from querymill_workers.jobs import heartbeat as room
from querymill_workers.jobs.heartbeat import HeartbeatThread, is_dead, this_host
from tests.fakes.jobs import CommonPorts, claimed
from tests.fixtures.boards import let_pass, new_board, new_board_of

REQUEST = EmbedTexts.model_validate({"collection": "c", "texts": [{"id": "a", "text": "ships"}]})
#: Long enough for any machine; every wait ends as soon as what it waits for has happened.
PATIENCE_S = 30
LEASE_S = 0.2


class BeatenBoard(ValkeyBoard):
    """Tells the tests of beats and renewals; fails at the first beats if it is told to."""

    def __init__(self, client: redis.Redis, settings: Settings, *, failures: int = 0) -> None:
        super().__init__(client, settings)
        self.beats = 0
        self.renewed: list[str] = []
        self._failures = failures
        self._beaten = threading.Condition()

    def beat(self, life: str, about: Mapping[str, Any]) -> list[str]:
        with self._beaten:
            self.beats += 1
            self._beaten.notify_all()
            if self.beats <= self._failures:
                raise ConnectionError("the board is away")
        return super().beat(life, about)

    def extend(self, held: Claim) -> bool:
        with self._beaten:
            self.renewed.append(held.job_id)
            self._beaten.notify_all()
        return super().extend(held)

    def wait_until(self, holds: Callable[[], bool]) -> None:
        with self._beaten:
            assert self._beaten.wait_for(holds, timeout=PATIENCE_S)


def beaten_board(*, failures: int = 0, lease_s: float = LEASE_S) -> BeatenBoard:
    return new_board_of(BeatenBoard, Settings(querymill_lease_s=lease_s), failures=failures)


def beating(board: ValkeyBoard, name: str = "a@host", lease_s: float = LEASE_S) -> HeartbeatThread:
    return HeartbeatThread(board, name=name, lease_s=lease_s)


def dead_process() -> int:
    """Return the id of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_a_process_is_on_the_board_before_it_holds_anything() -> None:
    board = beaten_board()
    heartbeat = beating(board)
    life = heartbeat.life
    assert [(worker.life, worker.name, worker.slots) for worker in board.workers()] == [(life, "a@host", 0)]
    heartbeat.describe(queues=["search"], slots=3)
    assert [(worker.queues, worker.slots, worker.pid) for worker in board.workers()] == [(("search",), 3, os.getpid())]
    heartbeat.end()


def test_one_thread_beats_again_and_again_whatever_the_process_holds() -> None:
    board = beaten_board()
    heartbeat = beating(board)
    heartbeat.begin()
    heartbeat.begin()
    board.wait_until(lambda: board.beats >= 4)
    assert [thread.name for thread in threading.enumerate()].count("heartbeat") == 1
    heartbeat.end()


def test_each_beat_says_how_many_steps_run_now() -> None:
    board = beaten_board(lease_s=4)
    heart = HeartbeatThread(board, name="w@host", lease_s=4)
    heart.describe(queues=["search"], slots=8)
    assert [worker.busy for worker in board.workers()] == [None]
    heart.describe(queues=["search"], slots=8, count_busy=lambda: 3)
    assert [(worker.busy, worker.slots) for worker in board.workers()] == [(3, 8)]


def test_a_board_that_is_away_is_beaten_again() -> None:
    board = beaten_board(failures=2)
    heartbeat = beating(board)
    heartbeat.begin()
    board.wait_until(lambda: board.beats >= 4)
    assert len(board.workers()) == 1
    heartbeat.end()


def test_two_lives_of_one_name_differ() -> None:
    board = new_board()
    first, second = beating(board), beating(board)
    assert first.life != second.life
    first.end()
    second.end()


def test_a_process_that_ends_puts_back_what_it_still_holds_at_once() -> None:
    board = beaten_board()
    heartbeat = beating(board)
    job_id, _ = board.submit(REQUEST)
    board.claim_steps(job_id, "embed", life=heartbeat.life, limit=1)
    heartbeat.end()
    assert board.workers() == []
    assert [due.step for due in board.due()] == ["embed"]


def test_a_silent_process_is_buried_by_any_other() -> None:
    board = beaten_board()
    job_id, _ = board.submit(REQUEST)
    board.beat("b@host#1", {"name": "b@host"})
    board.claim_steps(job_id, "embed", life="b@host#1", limit=1)
    heartbeat = beating(board)
    heartbeat.begin()
    board.wait_until(lambda: [worker.name for worker in board.workers()] == ["a@host"])
    assert board.picture(job_id).steps[0].state == "waiting"
    heartbeat.end()


def test_a_process_buries_its_former_life_as_soon_as_it_starts() -> None:
    board = beaten_board()
    job_id, _ = board.submit(REQUEST)
    board.beat("a@host#1", {"name": "a@host", "host": this_host(), "pid": dead_process()})
    board.claim_steps(job_id, "embed", life="a@host#1", limit=1)
    heartbeat = beating(board)
    heartbeat.begin()
    assert board.picture(job_id).steps[0].state == "waiting"
    assert [worker.life for worker in board.workers()] == [heartbeat.life]
    heartbeat.end()


def test_two_living_processes_of_one_name_leave_each_other_alone() -> None:
    board = beaten_board(lease_s=10)  # neither is taken for silent
    board.beat("a@host#1", {"name": "a@host", "host": this_host(), "pid": os.getppid()})
    heartbeat = beating(board, lease_s=10)
    heartbeat.begin()
    assert {worker.life for worker in board.workers()} == {"a@host#1", heartbeat.life}
    heartbeat.end()


@pytest.mark.parametrize(
    ("host", "pid", "age_s", "dead"),
    [
        ("", os.getpid(), 0.0, True),  # the id was given to this process
        ("", os.getppid(), 3.0, False),
        ("", 1, 3.0, False),
        ("", 0, 3.0, False),
        ("elsewhere", os.getpid(), 1.0, False),
        ("elsewhere", os.getpid(), 1.6, True),
    ],
    ids=["its own id", "its parent's", "the first process's", "none", "elsewhere, heard of", "elsewhere, silent"],
)
def test_a_process_id_tells_only_on_its_own_host(host: str, pid: int, age_s: float, dead: bool) -> None:
    former = WorkerLife("a#1", "a", (), 1, age_s, host=host or this_host(), pid=pid)
    assert is_dead(former) == dead


def test_a_step_that_takes_long_is_renewed_for_workers_that_know_only_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "RENEW_EVERY_S", LEASE_S)
    board = beaten_board()
    heartbeat, claim = beating(board), claimed(REQUEST, CommonPorts(board=board))
    heartbeat.begin()
    with heartbeat.keep(claim):
        board.wait_until(lambda: board.renewed.count(claim.job_id) >= 2)
    heartbeat.end()


def test_after_the_board_was_away_nobody_is_buried_who_is_still_heard_of(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    board = new_board(Settings(querymill_lease_s=4))
    one, other = (HeartbeatThread(board, name=name, lease_s=4) for name in ("one@host", "other@elsewhere"))
    for heartbeat in (one, other):
        heartbeat._began_at = now[0]
        heartbeat._beat()

    def pass_time(seconds: float, *beating: HeartbeatThread) -> list[str]:
        for _ in range(int(seconds / 0.5)):
            now[0] += 0.5
            let_pass(board, 0.5)
            for heartbeat in beating:
                heartbeat._beat()
        return sorted(worker.name for worker in board.workers())

    pass_time(30)  # the board is away
    assert pass_time(1, one) == ["one@host", "other@elsewhere"]
    assert pass_time(10, one, other) == ["one@host", "other@elsewhere"]
    assert pass_time(5, one) == ["one@host"]  # this one has died


def test_a_claim_whose_reply_was_lost_is_put_back_and_one_that_is_kept_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    # Nobody else takes over what a living process holds: its step waited for a minute.
    monkeypatch.setattr(room, "LOOK_FOR_LOST_S", 0.0)
    board = beaten_board()
    heartbeat = beating(board)
    (lost, _), (kept, _) = board.submit(REQUEST), board.submit(REQUEST.model_copy(update={"collection": "d"}))
    for job_id in (lost, kept):
        (claim,) = board.claim_steps(job_id, REQUEST.steps[0], life=heartbeat.life, limit=1).held
    with heartbeat.keep(claim):
        board.wait_until(lambda: board.picture(lost).steps[0].state == "waiting")
        assert board.picture(kept).steps[0].state == "running"
    heartbeat.end()


def test_a_process_beats_although_the_board_is_away() -> None:
    heartbeat = HeartbeatThread(board := beaten_board(failures=10**6), name="w", lease_s=LEASE_S)
    heartbeat.begin()
    board.wait_until(lambda: board.beats > 20)
    assert heartbeat.is_beating
    heartbeat.end()


def test_a_process_whose_beat_waits_for_the_board_still_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = threading.Event()

    class SilentBoard(BeatenBoard):
        def beat(self, life: str, about: Mapping[str, Any]) -> list[str]:
            if self.beats:
                waits.wait()
            return super().beat(life, about)

    board = new_board_of(SilentBoard, Settings(querymill_lease_s=LEASE_S))
    heartbeat = HeartbeatThread(board, name="w", lease_s=LEASE_S)
    heartbeat.begin()
    time.sleep(3 * LEASE_S)
    assert heartbeat.is_beating
    monkeypatch.setattr(room, "MAX_BEAT_S", LEASE_S)
    assert not heartbeat.is_beating  # no connection waits for that long
    waits.set()
    heartbeat.end()


def test_a_process_whose_heartbeat_has_ended_does_not_beat() -> None:
    class BrokenThread(HeartbeatThread):
        def _run(self) -> None:
            return

    heartbeat = BrokenThread(beaten_board(), name="w", lease_s=LEASE_S)
    heartbeat.begin()
    assert heartbeat.is_beating
    time.sleep(2.5 * LEASE_S)
    assert not heartbeat.is_beating
