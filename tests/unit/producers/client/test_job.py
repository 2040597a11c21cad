"""A submitted job, followed on its board: what its caller sees of each way to end."""

import pickle
import threading
import time
from collections.abc import Iterator

import pytest

from querymill import AsyncQuerymill, IngestReports, IngestReportsResult, Querymill
from querymill.client.events.watch import Watch
from querymill.client.job import Job
from querymill_shared.board import Outcome, ValkeyBoard, Verdict
from querymill_shared.contracts.errors import JobCancelled, JobFailed, UnknownJob
from querymill_shared.contracts.events import Cancelled, Done, Failed, Progress, Queued, StageFinished, StageStarted
from querymill_shared.contracts.ingest import IngestedDocument
from querymill_shared.contracts.reports.ingest import Report
from tests.fixtures.boards import new_board, open_watched, over_board

REPORT = Report.model_validate({"sha1": "a", "title": "t", "company": "c", "pages": [{"page": 1, "text": "x"}]})
INGEST = IngestReports(collection="filings", documents=(REPORT,))
INGESTED = IngestedDocument(document="a", outcome="ingested", total=1)
RESULT = IngestReportsResult(job_id="j", collection="filings", total=1, complete=True, documents=(INGESTED,))


@pytest.fixture
def board() -> ValkeyBoard:
    return new_board()


@pytest.fixture
def job(board: ValkeyBoard) -> Iterator[Job[IngestReportsResult]]:
    job_id, is_new = board.submit(INGEST)
    watch = Watch(lambda: open_watched(board))
    yield Job(job_id, over_board(board, watch), is_new=is_new)
    watch.close()


def run_to_the_end(board: ValkeyBoard, job_id: str) -> None:
    """Do what a worker does: claim, report progress, finish, settle."""
    (name,) = INGEST.steps
    claim = board.claim(job_id, name)
    assert claim is not None
    board.append_event(job_id, Progress(stage=name, done=1, total=2), held=claim)
    board.finish(claim, Outcome())
    board.settle(job_id, Verdict("done", result=RESULT.model_dump_json()))


def test_events_come_once_each_and_in_order(board: ValkeyBoard, job: Job[IngestReportsResult]) -> None:
    run_to_the_end(board, job.id)
    kinds = [type(event) for event in job.events(timeout=20)]
    assert kinds == [Queued, StageStarted, Progress, StageFinished, Done]


def test_events_go_on_after_any_of_them(board: ValkeyBoard, job: Job[IngestReportsResult]) -> None:
    run_to_the_end(board, job.id)
    whole = list(job.events(timeout=20))
    assert len({event.id for event in whole}) == len(whole) == 5
    for place, event in enumerate(whole):
        rest = list(job.events(timeout=20, after=event.id))
        assert [each.id for each in rest] == [each.id for each in whole[place + 1 :]]
        assert rest == whole[place + 1 :]


def test_a_caller_that_knows_an_event_that_the_board_has_lost_is_told_all_that_it_holds(
    board: ValkeyBoard, job: Job[IngestReportsResult]
) -> None:
    run_to_the_end(board, job.id)
    assert list(job.events(timeout=20, after="9999999999999-0")) == list(job.events(timeout=20))


def test_an_id_of_no_event_is_refused_and_an_unknown_job_is_unknown(
    board: ValkeyBoard, job: Job[IngestReportsResult]
) -> None:
    with pytest.raises(ValueError, match="after: must be the id of an event"):
        next(job.events(after="latest"))
    with pytest.raises(UnknownJob):
        next(Job("0" * 32, over_board(board, Watch(lambda: open_watched(board)))).events(after="1-0"))


def test_events_are_equal_if_they_say_the_same(board: ValkeyBoard, job: Job[IngestReportsResult]) -> None:
    assert next(job.events(timeout=5)) == Queued(stages=INGEST.steps)
    assert Done(complete=True).id == ""
    assert len({Done(complete=True).with_id("1-0"), Done(complete=True).with_id("2-0")}) == 1


@pytest.mark.parametrize("client", [Querymill, AsyncQuerymill])
def test_a_job_is_pickled_by_its_id_alone(client: type[Querymill | AsyncQuerymill]) -> None:
    job = client(redis_url="redis://:secret@127.0.0.1:1/0").job("4f0c" * 8)
    pickled = pickle.dumps(job)
    assert b"secret" not in pickled
    again = pickle.loads(pickled)
    assert (type(again), again.id) == (type(job), job.id)


def test_events_are_seen_while_the_job_runs(board: ValkeyBoard, job: Job[IngestReportsResult]) -> None:
    seen = job.events(timeout=5)
    assert isinstance(next(seen), Queued)
    worker = threading.Thread(target=run_to_the_end, args=(board, job.id))
    worker.start()
    assert [type(event) for event in seen][-1] is Done
    worker.join()


def test_a_result_is_waited_for(board: ValkeyBoard, job: Job[IngestReportsResult]) -> None:
    worker = threading.Timer(0.05, run_to_the_end, args=(board, job.id))
    worker.start()
    assert job.result(timeout=5) == RESULT
    worker.join()


@pytest.mark.parametrize("state", ["failed", "dead"])
def test_a_lost_job_raises_with_its_reason(board: ValkeyBoard, job: Job[IngestReportsResult], state: str) -> None:
    board.settle(job.id, Verdict(state, reason="the disk is full"))  # type: ignore[arg-type]  # of two literals
    with pytest.raises(JobFailed, match="failed: the disk is full") as raised:
        job.result(timeout=20)
    assert (raised.value.job_id, raised.value.reason) == (job.id, "failed: the disk is full")
    assert isinstance(list(job.events(timeout=20))[-1], Failed)


def test_a_job_is_cancelled_once(board: ValkeyBoard, job: Job[IngestReportsResult]) -> None:
    assert job.cancel()
    assert not job.cancel()
    with pytest.raises(JobCancelled):
        job.result(timeout=20)
    assert isinstance(list(job.events(timeout=20))[-1], Cancelled)


def test_a_job_that_is_over_is_not_cancelled(board: ValkeyBoard, job: Job[IngestReportsResult]) -> None:
    run_to_the_end(board, job.id)
    assert not job.cancel()
    assert job.result(timeout=20) == RESULT


@pytest.mark.parametrize("wait", ["result", "events"])
def test_a_wait_ends_in_time_and_the_job_goes_on(board: ValkeyBoard, job: Job[IngestReportsResult], wait: str) -> None:
    begun = time.monotonic()
    with pytest.raises(TimeoutError, match=f"job {job.id} is still running"):
        job.result(timeout=0.05) if wait == "result" else list(job.events(timeout=0.05))
    assert time.monotonic() - begun < 20
    run_to_the_end(board, job.id)
    assert job.result(timeout=20) == RESULT


def test_only_an_ended_job_is_released_and_then_it_is_unknown(
    board: ValkeyBoard, job: Job[IngestReportsResult]
) -> None:
    assert not job.release()
    run_to_the_end(board, job.id)
    assert job.release()
    for look in (lambda: job.result(timeout=20), lambda: list(job.events(timeout=20)), job.picture):
        with pytest.raises(UnknownJob, match=job.id):
            look()


def test_the_picture_shows_the_steps(board: ValkeyBoard, job: Job[IngestReportsResult]) -> None:
    assert [step.state for step in job.picture().steps] == ["waiting"]
    run_to_the_end(board, job.id)
    assert [step.state for step in job.picture().steps] == ["done"]
