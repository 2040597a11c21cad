"""The mill in memory, as a user's own unit tests would use it."""

import sys
import threading
import time
from collections.abc import Iterator

import pytest

from querymill import (
    ChatSession,
    IngestMessages,
    IngestModules,
    IngestReports,
    MessageSearch,
    ModuleDocument,
    ModuleSearch,
    Reembed,
    Report,
    ReportSearch,
    Rerank,
)
from querymill.client.events.reader import HEAR_S
from querymill.extras import NotInstalled
from querymill.testing import MemoryMill, WorkersMissing
from querymill_shared.contracts.errors import IdempotencyConflict, JobCancelled, JobFailed, UnknownCollection
from querymill_shared.contracts.events import Done, Queued

PAGES = ["the fleet counts nine ships", "revenue rose to forty million"]


@pytest.fixture
def mill() -> Iterator[MemoryMill]:
    with MemoryMill() as opened:
        yield opened


@pytest.fixture
def filings(mill: MemoryMill) -> str:
    pages = [{"page": number, "text": text} for number, text in enumerate(PAGES, start=1)]
    report = Report.model_validate({"sha1": "a1", "title": "Nordhav 2022", "company": "Nordhav", "pages": pages})
    mill.submit(IngestReports(collection="filings", documents=(report,))).result(timeout=10)
    return "filings"


def test_a_question_is_answered_by_the_page_that_shares_its_words(mill: MemoryMill, filings: str) -> None:
    result = mill.submit(ReportSearch(query="how many ships", collection=filings)).result(timeout=10)
    assert result.complete
    assert (result.results[0].page, result.results[0].text) == (1, PAGES[0])


def test_expansion_rerank_and_answer_need_no_model(mill: MemoryMill, filings: str) -> None:
    request = ReportSearch(query="how many ships", collection=filings, hyde=True, answer=True, judge=True)
    result = mill.submit(request).result(timeout=10)
    assert result.answer is not None
    assert result.answer.text == f"Nordhav 2022, Nordhav, page 1\n{PAGES[0]} [1]"
    assert [stage.name for stage in result.stages] == ["original", "hyde", "answer", "judge"]
    hits = [{"id": "a", "text": "soup", "score": 0.9}, {"id": "b", "text": "nine ships", "score": 0.8}]
    asked = Rerank.model_validate({"collection": filings, "query": "ships", "hits": hits})
    assert [hit.id for hit in mill.submit(asked).result(timeout=10).results] == ["b", "a"]


def test_other_kinds_run_too(mill: MemoryMill) -> None:
    document = ModuleDocument.model_validate(
        {"file_path": "cone.js", "code": "run()", "meta_info": {"vtkjs_modules": ["vtk.Filters.Sources.vtkConeSource"]}}
    )
    mill.submit(IngestModules(collection="code", documents=(document,))).result(timeout=10)
    found = mill.submit(ModuleSearch(query="use vtkConeSource", collection="code")).result(timeout=10)
    assert [hit.file_path for hit in found.results] == ["cone.js"]
    session = ChatSession.model_validate(
        {
            "session_id": "s",
            "started_at": "2026-03-01T09:00:00Z",
            "messages": [{"role": "user", "text": "rain in Bergen"}],
        }
    )
    mill.submit(IngestMessages(collection="chats", documents=(session,))).result(timeout=10)
    hits = mill.submit(MessageSearch(query="rain", collection="chats", similarity_threshold=None)).result(timeout=10)
    assert [hit.content for hit in hits.results] == ["rain in Bergen"]


def test_events_tell_the_way_of_a_job(mill: MemoryMill, filings: str) -> None:
    events = list(mill.submit(ReportSearch(query="ships", collection=filings)).events(timeout=10))
    assert isinstance(events[0], Queued)
    assert isinstance(events[-1], Done)


def test_mistakes_are_those_of_the_real_mill(mill: MemoryMill, filings: str) -> None:
    with pytest.raises(UnknownCollection, match="nowhere"):
        mill.submit(ReportSearch(query="ships", collection="nowhere"))
    mill.submit(ReportSearch(query="ships", collection=filings), idempotency_key="turn")
    with pytest.raises(IdempotencyConflict):
        mill.submit(ReportSearch(query="soup", collection=filings), idempotency_key="turn")


def test_an_idempotency_key_leads_back_to_the_first_job(mill: MemoryMill, filings: str) -> None:
    asked = ReportSearch(query="ships", collection=filings)
    first, again = (mill.submit(asked, idempotency_key="turn") for _ in range(2))
    assert (first.id, first.is_new, again.is_new) == (again.id, True, False)


def test_a_cancelled_job_says_so(mill: MemoryMill, filings: str) -> None:
    mill.close()  # nobody works any more: the job waits
    job = mill.submit(ReportSearch(query="ships", collection=filings))
    assert job.cancel()
    with pytest.raises(JobCancelled):
        job.result(timeout=20)


def test_a_job_that_fails_names_the_reason(mill: MemoryMill) -> None:
    job = mill.submit(Reembed(collection="chats", retriever="messages", model="another"))
    with pytest.raises(JobFailed, match="another"):
        job.result(timeout=10)


def test_closing_ends_the_thread(filings: str, mill: MemoryMill) -> None:
    before = set(threading.enumerate())
    mill.close()
    assert before - set(threading.enumerate())


@pytest.mark.parametrize("library", ["fakeredis", "lupa"])
def test_without_the_simulated_server_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(NotInstalled, match=rf"MemoryMill needs {library}; .*\[testing\]"):
        MemoryMill()


def test_closing_a_mill_waits_for_nothing(mill: MemoryMill, filings: str) -> None:
    begun = time.monotonic()
    mill.close()
    assert time.monotonic() - begun < HEAR_S


def test_two_mills_know_nothing_of_each_other(mill: MemoryMill, filings: str) -> None:
    with MemoryMill() as other:
        assert (mill.collections(), other.collections()) == ({filings: ("reports",)}, {})


def test_without_the_workers_the_error_names_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("querymill.testing.GROUP", "querymill.nothing")
    with pytest.raises(WorkersMissing, match="install querymill-workers"):
        MemoryMill()
