"""A store that is away while the result of a search is read: the end is put off, at most until the deadline."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from querymill_shared.board import Record
from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.conversations.search import ConversationSearch
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_workers.dispatch.sweeper import sweep
from querymill_workers.jobs.faults import Unavailable
from tests.fixtures.chats import session
from tests.fixtures.code_base import ASKED, BASE, PROFILES, put
from tests.fixtures.short_forms import all_at_night, crossed
from tests.fixtures.world import World, example, new_world, report

CUT = Unavailable("PostgreSQL: AdminShutdown", code="store_down")
ALWAYS = 1_000_000


def hold_reports(world: World) -> None:
    world.ingest(report("a1", "the fleet has nine ships", "revenue rose to forty million"))


def hold_code(world: World) -> None:
    world.ingest_code(example(0, "vtkConeSource", "vtkActor", description="a red cone"))


def hold_chats(world: World) -> None:
    world.run(IngestMessages(collection="c", documents=(session("s", "the fleet counts nine ships"),)))


def hold_talks(world: World) -> None:
    world.run(IngestConversations(collection="c", documents=(session("s", "the fleet counts nine ships"),)))


def hold_files(world: World) -> None:
    put(world, BASE)
    world.with_ports(file_profiles=PROFILES)


@dataclass(frozen=True)
class Case:
    """A search, what it searches, and the call of a store that reads its result."""

    request: JobRequest
    hold: Callable[[World], None]
    store: str
    call: str


CASES = {
    "reports": Case(ReportSearch(query="revenue rose", collection="filings"), hold_reports, "reports", "texts"),
    "reports of two branches": Case(
        ReportSearch(query="revenue rose", collection="filings", hyde=True), hold_reports, "reports", "texts"
    ),
    "reports reranked": Case(
        ReportSearch(query="revenue rose", collection="filings", rerank=True), hold_reports, "reports", "texts"
    ),
    "reports with an answer": Case(
        ReportSearch(query="revenue rose", collection="filings", answer=True), hold_reports, "reports", "texts"
    ),
    "modules": Case(ModuleSearch(query="vtkConeSource", collection="code"), hold_code, "modules", "documents"),
    "messages": Case(MessageSearch(query="nine ships", collection="c"), hold_chats, "messages", "rows"),
    "messages by vectors": Case(
        MessageSearch(query="nine ships", collection="c", ranking="vectors"), hold_chats, "messages", "nearest"
    ),
    "messages and their model": Case(
        MessageSearch(query="nine ships", collection="c"), hold_chats, "vectors/messages", "active_model"
    ),
    "conversations": Case(
        ConversationSearch(query="nine ships", collection="c"), hold_talks, "conversations", "sessions"
    ),
    "conversations and their model": Case(
        ConversationSearch(query="nine ships", collection="c"), hold_talks, "vectors/conversations", "active_model"
    ),
    "files": Case(ASKED.model_copy(update={"rounds": 1}), hold_files, "files", "contents"),
    "files in one shot": Case(ASKED.model_copy(update={"mode": "oneshot"}), hold_files, "files", "symbols"),
    "metadata of files": Case(
        ASKED.model_copy(update={"rounds": 1, "filter": {"language": "python"}}), hold_files, "files", "describe"
    ),
}  # fmt: skip


class Flaky:
    """A store one of whose calls works ``spared`` times, and then fails ``left`` times."""

    def __init__(self, store: object, call: str) -> None:
        self._store, self._call, self.spared, self.left, self.calls = store, call, 0, 0, 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return functools.partial(self._answer, found) if name == self._call else found

    def _answer(self, call: Callable[..., Any], *given: Any, **named: Any) -> Any:
        self.calls += 1
        if self.spared:
            self.spared -= 1
        elif self.left:
            self.left -= 1
            raise CUT
        return call(*given, **named)


def begin(world: World, case: Case) -> Flaky:
    case.hold(world)
    world.rewriter.replies = {"hyde": "| year | revenue |\n|---|---|\n| 2022 | forty |"}
    port, _, kind = case.store.partition("/")
    stores = getattr(world.ports, port)
    store = Flaky(stores[kind] if kind else stores, case.call)
    world.with_ports(**{port: {**stores, kind: store} if kind else store})
    return store


def before_the_last(case: Case) -> int:
    """Return how often a search makes the call before it makes it for its result."""
    world = new_world()
    store = begin(world, case)
    assert world.board.has_ended(world.run(case.request))
    return store.calls - 1


def work_until_over(world: World, job_id: str, *, max_s: float) -> tuple[Record, float]:
    """Let time pass and the sweeper sweep until a job has ended. Return its record and how long it took (s)."""
    for _ in range(int(max_s / 0.1)):
        if world.board.has_ended(job_id):
            break
        world.let_pass(0.1)
        world.answer(*sweep(world.ports))
    record = world.board.picture(job_id).record
    assert record.ended is not None, f"{record} after {max_s} s"
    return record, record.ended - record.created


@pytest.mark.parametrize(("times", "name"), crossed([1, 2, 3, 5], CASES))
def test_a_store_that_comes_back_costs_seconds_and_no_part_of_the_result(world: World, name: str, times: int) -> None:
    case = CASES[name]
    store = begin(world, case)
    store.spared, store.left = before_the_last(case), times
    job_id = world.run(case.request)
    record, took_s = work_until_over(world, job_id, max_s=29)
    assert (record.state, record.reason) == ("done", "")
    result = world.result(job_id)
    assert result.degraded == ()
    assert took_s < (4 if times <= 2 else 18)


@pytest.mark.parametrize("name", all_at_night(CASES, short=["reports", "modules", "messages"]))
def test_a_store_that_stays_away_is_waited_for_until_the_deadline(world: World, name: str) -> None:
    case = CASES[name]
    store = begin(world, case)
    store.spared, store.left = before_the_last(case), ALWAYS
    job_id = world.run(case.request)
    record, took_s = work_until_over(world, job_id, max_s=40)
    assert case.request.deadline is not None
    assert case.request.deadline - 5 < took_s < case.request.deadline + 1
    if record.state == "done":
        # Shortly before the deadline, messages are searched without a vector that would have to be asked for.
        assert {part.code for part in world.result(job_id).degraded} in ({"store_down"}, {"deadline"})
    else:
        assert (record.state, record.code) == ("failed", "store_down")
        assert str(CUT) in record.reason
