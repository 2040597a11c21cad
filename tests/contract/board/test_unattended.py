"""Whether any worker listens where a job waits."""

import logging
import time
from collections.abc import Iterator

import pytest

from querymill.client.events.watch import Watch
from querymill_shared.board import Board, WatchedBoard
from querymill_shared.board.lives import ALIVE_S, listening, writes_answers
from querymill_shared.board.picture import WorkerLife
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings
from tests.fixtures.boards import claimed, on_both_servers, open_watched, watched

#: Waits on `search` and on `expand`.
SEARCH = ReportSearch(query="revenue?", collection="filings", hyde=True, deadline=60)


@pytest.fixture
def settings(valkey_url: str) -> Settings:
    return Settings(redis_url=valkey_url)


@pytest.fixture
def watching(board: Board, settings: Settings) -> Iterator[WatchedBoard]:
    with watched(board) as watching:
        yield watching


def begin(board: Board, *queues: Queue) -> None:
    board.beat("w@host#1", {"name": "w@host", "queues": list(queues), "slots": 4})


def test_without_any_worker_a_job_waits_in_vain_on_all_its_queues(board: Board, watching: WatchedBoard) -> None:
    job_id, _ = board.submit(SEARCH)
    assert watching.unattended([job_id]) == {job_id: ("search", "expand")}


@on_both_servers
def test_only_queues_without_a_worker_are_named(board: Board, watching: WatchedBoard) -> None:
    begin(board, Queue.SEARCH, Queue.INGEST)
    job_id, _ = board.submit(SEARCH)
    assert watching.unattended([job_id]) == {job_id: ("expand",)}
    begin(board, *Queue)
    assert watching.unattended([job_id]) == {}


def test_a_step_that_runs_waits_for_nobody(board: Board, watching: WatchedBoard) -> None:
    job_id, _ = board.submit(SEARCH)
    claimed(board, job_id, "hyde")
    assert watching.unattended([job_id]) == {job_id: ("search",)}


def test_nothing_is_said_of_jobs_that_are_not_there(watching: WatchedBoard) -> None:
    assert watching.unattended(["0" * 32, ""]) == {}


def test_a_worker_that_fell_silent_does_not_listen() -> None:
    lives = [WorkerLife("a#1", "a", ("search",), 4, beat_age_s=ALIVE_S + 1),
             WorkerLife("b#1", "b", ("expand",), 4, beat_age_s=0.1)]  # fmt: skip
    assert dict(listening(lives)) == {"expand": 1}


@pytest.mark.parametrize(
    ("lives", "is_so"),
    [
        ([], False),
        ([("expand", True, 0.1)], True),
        ([("expand", True, 0.1), ("search", False, 0.1)], True),
        ([("expand", True, 0.1), ("expand", False, 0.1)], False),
        ([("expand", True, 0.1), ("expand", False, ALIVE_S + 1)], True),
        ([("search", True, 0.1)], False),
    ],
)
def test_a_chat_model_writes_answers_if_every_living_worker_that_asks_one_says_so(
    lives: list[tuple[str, bool, float]], is_so: bool
) -> None:
    fleet = [WorkerLife("a#1", "a", (queue,), 4, beat_age_s=age_s, writes=writes) for queue, writes, age_s in lives]
    assert writes_answers(fleet) is is_so


def test_a_wait_that_no_worker_will_end_is_logged_once_and_named_when_it_times_out(
    board: Board, settings: Settings, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("querymill.client.events.reader.UNATTENDED_S", 0.3)
    monkeypatch.setattr("querymill.client.events.reader.LISTENING_EVERY_S", 0.2)
    begin(board, Queue.EXPAND)
    job_id, _ = board.submit(SEARCH)
    watch = Watch(lambda: open_watched(board))
    begun = time.monotonic()
    try:
        with caplog.at_level(logging.WARNING), pytest.raises(TimeoutError, match="no worker listens on `search`"):
            watch.end(job_id, until=begun + 3)
    finally:
        watch.close()
    warnings = [record for record in caplog.records if record.getMessage() == "no worker listens on `search`"]
    assert len(warnings) == 1
    assert warnings[0].levelno == logging.WARNING


def test_a_wait_that_a_worker_ends_says_nothing(
    board: Board, settings: Settings, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("querymill.client.events.reader.UNATTENDED_S", 0.3)
    begin(board, *Queue)
    job_id, _ = board.submit(SEARCH)
    watch = Watch(lambda: open_watched(board))
    try:
        with pytest.raises(TimeoutError) as late:
            watch.end(job_id, until=time.monotonic() + 1.5)
    finally:
        watch.close()
    assert "no worker" not in str(late.value) + caplog.text
