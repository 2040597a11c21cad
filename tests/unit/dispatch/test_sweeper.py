import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
import redis

from querymill_shared.board import Outcome, Picture, ValkeyBoard
from querymill_shared.board.keys import SHARDS
from querymill_shared.contracts.conversations.ranks import RecomputeRanks
from querymill_shared.contracts.conversations.search import ConversationSearch
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_shared.contracts.reindex import Reindex
from querymill_shared.contracts.reports.ingest import IngestReports, Report
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.rerank import Rerank, RerankCandidate
from querymill_shared.contracts.vectors import Reembed
from querymill_shared.hits import BoardHit
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings
from querymill_workers.dispatch import run_step
from querymill_workers.dispatch.background_tasks import LIMIT_S
from querymill_workers.dispatch.ports import Ports
from querymill_workers.dispatch.sweeper import Sweeper, recover, sweep
from querymill_workers.jobs.bell import Bell
from querymill_workers.postgres.planner_statistics import NoSamples
from querymill_workers.retrievers.reports.ports import PassageText
from querymill_workers.retrievers.reports.rules.fusion import HitKey
from querymill_workers.retrievers.reports.stores.memory import MemoryReports
from tests.fakes.jobs import Clock
from tests.fakes.ports import memory_ports
from tests.fixtures.boards import claimed, let_pass, new_board, new_board_of
from tests.fixtures.short_forms import all_at_night

SEARCH = ReportSearch(query="q", collection="filings", hyde=True, deadline=30)
#: The ports that a sweeper must not wait for.
STORES = ("reports", "text_vectors", "words", "modules", "messages", "sessions", "files", "conversations", "ranks")
SEVERAL_KINDS: tuple[JobRequest, ...] = (
    SEARCH,
    MessageSearch(query="q", collection="chats", deadline=30),
    ConversationSearch(query="q", collection="chats", deadline=30),
    ModuleSearch(query="q", collection="code", deadline=30),
    FileSearch(query="q", collection="code", deadline=30),
    Rerank(query="q", collection="c", hits=(RerankCandidate(id="1", text="t", score=1.0),), deadline=30),
    EmbedTexts(collection="c", texts=(TextToEmbed(id="1", text="nine ships"),)),
    RecomputeRanks(collection="chats"),
    Reembed(collection="chats", retriever="messages", model="words"),
    Reindex(collection="chats", of="messages"),
)
INGEST = IngestReports(
    collection="filings",
    documents=(
        Report.model_validate({"sha1": "a", "title": "t", "company": "c", "pages": [{"page": 1, "text": "x"}]}),
    ),
)


class BreakingBoard(ValkeyBoard):
    """Breaks whenever one job is looked at."""

    breaks_at = ""

    def picture(self, job_id: str) -> Picture:
        if job_id == self.breaks_at:
            raise ZeroDivisionError(job_id)
        return super().picture(job_id)

    def pictures(self, job_ids: Sequence[str]) -> list[Picture | None]:
        return [None if job_id == self.breaks_at else self.picture(job_id) for job_id in job_ids]


@pytest.fixture
def ports() -> Ports:
    settings = Settings(querymill_lease_s=10, querymill_ring_grace_s=2)
    return memory_ports(board=new_board(settings), max_attempts=2)


def test_nothing_is_rung_while_all_is_well(ports: Ports) -> None:
    ports.board.submit(SEARCH)
    let_pass(ports.board, 1)
    assert sweep(ports) == []


def test_a_lost_bell_is_rung_again_on_its_own_queue(ports: Ports) -> None:
    job_id, _ = ports.board.submit(SEARCH)
    let_pass(ports.board, 2)
    assert sorted(sweep(ports), key=lambda bell: bell.step) == [
        Bell(job_id, "hyde", Queue.EXPAND),
        Bell(job_id, "original", Queue.SEARCH),
    ]


def test_a_backlog_is_not_answered_with_more_and_more_bells(ports: Ports) -> None:
    ports.board.submit(INGEST)
    rung = 0
    for _ in range(120):
        let_pass(ports.board, 1)
        rung += len(sweep(ports))
    assert 4 <= rung <= 7


def test_a_step_of_a_dead_worker_is_rung_again(ports: Ports) -> None:
    job_id, _ = ports.board.submit(INGEST)
    ports.board.claim(job_id, "ingest")
    let_pass(ports.board, 10)
    assert sweep(ports) == [Bell(job_id, "ingest", Queue.INGEST)]


def test_a_step_whose_workers_keep_dying_ends_the_job_as_dead(ports: Ports) -> None:
    job_id, _ = ports.board.submit(INGEST)
    for _ in range(2):
        assert ports.board.claim(job_id, "ingest") is not None
        let_pass(ports.board, 10)
        sweep(ports)
        let_pass(ports.board, 10)
    record = ports.board.picture(job_id).record
    assert (record.state, record.reason) == ("dead", "no worker finished it in 2 attempts")


def test_a_step_that_was_claimed_since_it_became_due_is_not_taken_for_one_of_dead_workers(ports: Ports) -> None:
    job_id, _ = ports.board.submit(INGEST)
    assert ports.board.claim(job_id, "ingest") is not None
    let_pass(ports.board, 10)
    (due,) = ports.board.due()
    assert ports.board.claim(job_id, "ingest") is not None
    assert recover(due, ports) == []
    assert ports.board.picture(job_id).record.state == "running"


def test_a_search_that_found_nothing_by_its_deadline_fails_with_the_reason(ports: Ports) -> None:
    job_id, _ = ports.board.submit(SEARCH)
    let_pass(ports.board, 29.95)
    sweep(ports)
    record = ports.board.picture(job_id).record
    assert record.state == "failed"
    assert record.reason == "no search came through: original: cut by the deadline; hyde: cut by the deadline"


def test_a_job_whose_last_worker_died_before_settling_is_settled(ports: Ports) -> None:
    job_id, _ = ports.board.submit(INGEST)
    claim = ports.board.claim(job_id, "ingest")
    assert claim is not None
    ports.board.finish(claim, Outcome(notes={"documents": []}))
    let_pass(ports.board, 2)
    assert sweep(ports) == []
    assert ports.board.picture(job_id).record.state == "done"
    assert ports.board.result(job_id) is not None


def test_a_job_that_cannot_be_looked_at_keeps_no_other_from_its_deadline() -> None:
    board = new_board_of(BreakingBoard, Settings(querymill_lease_s=10, querymill_ring_grace_s=2))
    board.breaks_at, _ = board.submit(SEARCH)
    job_id, _ = board.submit(MessageSearch(query="q", collection="chats", deadline=30))
    let_pass(board, 30)
    sweep(memory_ports(board=board))
    assert board.picture(job_id).record.reason == "its deadline passed"


class Silent(MemoryReports):
    """A store that does not respond until it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = threading.Event()

    def texts(self, collection: str, keys: Sequence[HitKey]) -> Mapping[HitKey, PassageText]:
        assert self.opened.wait(10)
        return super().texts(collection, keys)


def test_a_store_that_is_silent_keeps_no_other_job_from_its_deadline() -> None:
    board, reports, clock = new_board(Settings(querymill_ring_grace_s=2)), Silent(), Clock()
    ports = memory_ports(board=board, reports=reports, clock=clock)
    stuck, _ = board.submit(SEARCH)
    claim = board.claim(stuck, "original")
    assert claim is not None
    board.finish(claim, Outcome(hits={"q": (BoardHit("r1/page/1", 0.8, 3),)}))
    other, _ = board.submit(MessageSearch(query="q", collection="chats", deadline=30))
    sweeper = Sweeper(ports, ring=lambda _: None, elect=lambda: SHARDS)
    let_pass(board, 30)
    sweeper.turn()
    assert board.picture(other).record.reason == "its deadline passed"
    assert not board.picture(stuck).record.is_over
    let_pass(board, LIMIT_S)
    clock.now += LIMIT_S
    sweeper.turn()
    record = board.picture(stuck).record
    assert (record.state, record.reason) == ("failed", "PostgreSQL did not respond when the deadline passed")
    reports.opened.set()


class AskedSamples(NoSamples):
    """Notes that somebody looked."""

    def __init__(self) -> None:
        self.looked = threading.Event()

    def catch_up(self) -> None:
        self.looked.set()


def test_samples_of_what_dead_workers_dropped_are_looked_for_as_soon_as_a_process_is_elected() -> None:
    samples = AskedSamples()
    ports = memory_ports(samples=samples)
    Sweeper(ports, ring=lambda _: None, elect=lambda: SHARDS).turn()
    assert samples.looked.wait(timeout=10)


def test_a_minute_is_kept_about_once_a_second_and_only_by_who_is_elected() -> None:
    clock, kept, elected = Clock(), list[float](), [SHARDS]
    ports = memory_ports(clock=clock)
    sweeper = Sweeper(ports, ring=lambda _: None, elect=lambda: elected[0], keep_minute=lambda: kept.append(clock.now))
    begun = clock.now
    for _ in range(20):
        sweeper.turn()
        clock.now += 0.25
    assert [at - begun for at in kept] == [0, 1, 2, 3, 4]
    elected[0] = ""
    for _ in range(20):
        clock.now += 0.25
        sweeper.turn()
    assert len(kept) <= 6


def test_a_history_that_cannot_be_kept_keeps_no_job_from_its_deadline() -> None:
    def refuse() -> None:
        raise redis.exceptions.NoPermissionError("no permissions to access one of the keys")

    board = new_board()
    job_id, _ = board.submit(SEARCH)
    let_pass(board, 30)
    Sweeper(memory_ports(board=board), ring=lambda _: None, elect=lambda: SHARDS, keep_minute=refuse).turn()
    assert board.picture(job_id).record.is_over


class Untouchable:
    """A store that nobody may touch here."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"the sweeper would wait for a store: {name}")


@pytest.mark.parametrize("request_", SEVERAL_KINDS, ids=lambda asked: asked.kind)
def test_a_flow_that_reads_a_store_to_settle_says_so(request_: JobRequest) -> None:
    """Settle and conclude a job whose steps are all done, with stores that raise at any touch."""
    for close in (False, True):
        untouchable: dict[str, Any] = {name: Untouchable() for name in STORES}
        ports = memory_ports(**untouchable)
        job_id, _ = ports.board.submit(request_)
        for step in request_.steps if close else ():
            claim = ports.board.claim(job_id, step)
            assert claim is not None
            ports.board.finish(claim, Outcome("failed", "broken"))
        flow = run_step.flow_of(request_)
        if flow.reads is None:
            picture = ports.board.picture(job_id)
            (flow.conclude if close else flow.settle)(picture, ports)


class UnreadableBoard(ValkeyBoard):
    """Holds requests that this release cannot read."""

    def picture(self, job_id: str) -> Picture:
        return replace(super().picture(job_id), request=None, unreadable="kind: unknown")

    def pictures(self, job_ids: Sequence[str]) -> list[Picture | None]:
        return [self.picture(job_id) for job_id in job_ids]


def test_a_job_that_the_sweeper_cannot_read_is_rung_for_those_that_can_and_fails_at_its_deadline() -> None:
    ports = memory_ports(board=new_board_of(UnreadableBoard, Settings(querymill_ring_grace_s=2)))
    job_id, _ = ports.board.submit(SEARCH)
    let_pass(ports.board, 2)
    assert sorted(sweep(ports), key=lambda bell: bell.step) == [
        Bell(job_id, "hyde", Queue.EXPAND),
        Bell(job_id, "original", Queue.SEARCH),
    ]
    let_pass(ports.board, 30)
    sweep(ports)
    record = ports.board.picture(job_id).record
    assert (record.state, record.reason) == ("failed", "no worker of this fleet can read its request: kind: unknown")


def test_a_step_on_a_queue_that_this_release_does_not_have_is_not_rung() -> None:
    class NewerBoard(UnreadableBoard):
        def picture(self, job_id: str) -> Picture:
            return replace(super().picture(job_id), queues={"original": "search", "hyde": "dreams"})

    ports = memory_ports(board=new_board_of(NewerBoard, Settings(querymill_ring_grace_s=2)))
    job_id, _ = ports.board.submit(SEARCH)
    let_pass(ports.board, 2)
    assert sweep(ports) == [Bell(job_id, "original", Queue.SEARCH)]


@pytest.mark.parametrize("wait_s", all_at_night([3, 30], short=[30]))
def test_a_job_that_cannot_be_concluded_from_what_is_on_the_board_fails_with_the_reason(wait_s: float) -> None:
    board = new_board()
    ports = memory_ports(board=board)
    job_id, _ = board.submit(ReportSearch(query="q", collection="filings", deadline=30))
    board.finish(claimed(board, job_id), Outcome(notes={"texts": 7}))
    let_pass(board, wait_s)
    sweep(ports)
    record = board.picture(job_id).record
    assert (record.state, record.reason) == ("failed", "its steps left what cannot be concluded from: ValidationError")
