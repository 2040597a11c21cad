import pytest

from querymill_shared.board import MemoryBoard, Outcome, Picture
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.contracts.reports.ingest import IngestReport, Report
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings
from querymill_workers.dispatch.ports import Ports
from querymill_workers.dispatch.sweeper import sweep
from querymill_workers.jobs.bell import Bell
from tests.fakes.ports import memory_ports

SEARCH = ReportSearch(query="q", collection="filings", hyde=True, deadline=30)
INGEST = IngestReport(
    collection="filings",
    report=Report.model_validate({"sha1": "a", "title": "t", "company": "c", "pages": [{"page": 1, "text": "x"}]}),
)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class BreakingBoard(MemoryBoard):
    """Breaks whenever one job is looked at."""

    breaks_at = ""

    def picture(self, job_id: str) -> Picture:
        if job_id == self.breaks_at:
            raise ZeroDivisionError(job_id)
        return super().picture(job_id)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ports(clock: Clock) -> Ports:
    settings = Settings(querymill_lease_s=10, querymill_ring_grace_s=2)
    return memory_ports(board=MemoryBoard(settings, clock=clock), max_attempts=2)


def test_nothing_is_rung_while_all_is_well(ports: Ports, clock: Clock) -> None:
    ports.board.submit(SEARCH)
    clock.now += 1
    assert sweep(ports) == []


def test_a_lost_bell_is_rung_again_on_its_own_queue(ports: Ports, clock: Clock) -> None:
    job_id, _ = ports.board.submit(SEARCH)
    clock.now += 2
    assert sorted(sweep(ports), key=lambda bell: bell.step) == [
        Bell(job_id, "hyde", Queue.EXPAND),
        Bell(job_id, "original", Queue.SEARCH),
    ]


def test_a_backlog_is_not_answered_with_more_and_more_bells(ports: Ports, clock: Clock) -> None:
    ports.board.submit(INGEST)
    rung = 0
    for _ in range(120):
        clock.now += 1
        rung += len(sweep(ports))
    assert 4 <= rung <= 7


def test_a_step_of_a_dead_worker_is_rung_again(ports: Ports, clock: Clock) -> None:
    job_id, _ = ports.board.submit(INGEST)
    ports.board.claim(job_id, "ingest")
    clock.now += 10
    assert sweep(ports) == [Bell(job_id, "ingest", Queue.INGEST)]


def test_a_step_whose_workers_keep_dying_ends_the_job_as_dead(ports: Ports, clock: Clock) -> None:
    job_id, _ = ports.board.submit(INGEST)
    for _ in range(2):
        assert ports.board.claim(job_id, "ingest") is not None
        clock.now += 10
        sweep(ports)
        clock.now += 10
    record = ports.board.picture(job_id).record
    assert (record.state, record.reason) == ("dead", "no worker finished it in 2 attempts")


def test_a_search_that_found_nothing_by_its_deadline_fails_with_the_reason(ports: Ports, clock: Clock) -> None:
    job_id, _ = ports.board.submit(SEARCH)
    clock.now += 29.95
    assert sweep(ports)[0].job_id == job_id or ports.board.picture(job_id).record.is_over
    record = ports.board.picture(job_id).record
    assert record.state == "failed"
    assert record.reason == "no search came through: original: cut by the deadline; hyde: cut by the deadline"


def test_a_job_whose_last_worker_died_before_settling_is_settled(ports: Ports, clock: Clock) -> None:
    job_id, _ = ports.board.submit(INGEST)
    claim = ports.board.claim(job_id, "ingest")
    assert claim is not None
    ports.board.finish(claim, Outcome(notes={"outcome": "ingested", "passages": 1}))
    clock.now += 2
    assert sweep(ports) == []
    assert ports.board.picture(job_id).record.state == "done"
    assert ports.board.result(job_id) is not None


def test_a_job_that_cannot_be_looked_at_keeps_no_other_from_its_deadline(clock: Clock) -> None:
    board = BreakingBoard(Settings(querymill_lease_s=10, querymill_ring_grace_s=2), clock=clock)
    board.breaks_at, _ = board.submit(SEARCH)
    job_id, _ = board.submit(MessageSearch(query="q", collection="chats", deadline=30))
    clock.now += 30
    sweep(memory_ports(board=board))
    assert board.picture(job_id).record.reason == "its deadline passed"
