"""The same question asked many times at once, and rebuilds asked for together: worked once, answered to each."""

import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
import redis

from querymill import AnswerQuestion, JobCancelled, Querymill, ReportSearch
from querymill.client.job import Job
from querymill_shared.contracts.answer import AnswerResult
from querymill_shared.contracts.conversations.ingest import IngestConversation
from querymill_shared.contracts.conversations.ranks import RecomputeRanks
from querymill_shared.contracts.events import AnswerPart, Done
from querymill_shared.contracts.reports.ingest import IngestReport, Report
from tests.fakes.openai_server import Answer, OpenAIServer, chat_stream
from tests.fakes.worker import WorkerProcess
from tests.fixtures.chats import session
from tests.fixtures.deployment import finish_embedding, finished

CALLERS = 50


class Held:
    """Holds every chat call until the test lets them go."""

    def __init__(self) -> None:
        self.came = threading.Semaphore(0)
        self.go = threading.Event()

    def __call__(self, _: dict[str, Any]) -> Answer:
        self.came.release()
        self.go.wait(20)
        return chat_stream("Revenue rose ", "[1].")


@pytest.fixture
def held(openai_server: OpenAIServer) -> Held:
    openai_server.script.chat = held = Held()
    return held


def question(text: str) -> AnswerQuestion:
    return AnswerQuestion.model_validate({
        "query": text, "collection": "never-ingested", "deadline": 60,
        "hits": [{"id": 1, "text": "revenue rose to forty million"}],
    })  # fmt: skip


def asked_at_once(mill: Querymill, text: str) -> list[Job[AnswerResult]]:
    with ThreadPoolExecutor(CALLERS) as callers:
        return list(callers.map(lambda _: mill.submit(question(text)), range(CALLERS)))


def steps_worked(board_client: redis.Redis, jobs: Sequence[Job[Any]]) -> int:
    """Count the jobs that have steps of their own."""
    records: list[Any] = [board_client.hgetall(f"qm:{{{job.id[0]}}}:{job.id}:job") for job in jobs]
    return sum("leader" not in record for record in records)


def test_fifty_callers_of_one_question_cost_one_answer(
    worker: WorkerProcess, mill: Querymill, openai_server: OpenAIServer, held: Held, board_client: redis.Redis
) -> None:
    assert worker.process is not None
    jobs = asked_at_once(mill, "did revenue rise for all of them?")
    assert held.came.acquire(timeout=20)
    held.go.set()
    results = [job.result(timeout=30) for job in jobs]
    assert len({job.id for job in jobs}) == CALLERS
    assert [result.job_id for result in results] == [job.id for job in jobs]
    assert {result.answer.text for result in results if result.answer} == {"Revenue rose [1]."}
    assert len(openai_server.seen("completions")) == 1
    assert Counter(job.is_new for job in jobs) == {True: 1, False: CALLERS - 1}
    assert steps_worked(board_client, jobs) == 1
    for job in (jobs[0], jobs[-1]):
        events = list(job.events(timeout=10))
        assert "".join(event.text for event in events if isinstance(event, AnswerPart)).endswith("[1].")
        assert events[-1] == Done(complete=True)
        assert job.picture().record.callers == CALLERS


def test_the_last_caller_is_answered_though_all_others_cancel(
    worker: WorkerProcess, mill: Querymill, openai_server: OpenAIServer, held: Held
) -> None:
    assert worker.process is not None
    jobs = asked_at_once(mill, "did revenue rise for the last of them?")
    assert held.came.acquire(timeout=20)
    (first,) = (job for job in jobs if job.is_new)
    *others, last = sorted(jobs, key=lambda job: job is not first)
    assert all(job.cancel() for job in others)
    held.go.set()
    assert last.result(timeout=30).job_id == last.id
    for job in others:
        with pytest.raises(JobCancelled):
            job.result(timeout=10)
    assert len(openai_server.seen("completions")) == 1


def test_work_that_everybody_cancelled_is_not_finished(
    worker: WorkerProcess, mill: Querymill, held: Held, board_client: redis.Redis
) -> None:
    assert worker.process is not None
    jobs = asked_at_once(mill, "did revenue rise for nobody?")
    assert held.came.acquire(timeout=20)
    assert all(job.cancel() for job in jobs)
    (leader,) = (job for job in jobs if job.is_new)
    assert board_client.hget(f"qm:{{{leader.id[0]}}}:{leader.id}:job", "state") == "cancelled"
    held.go.set()
    for job in jobs:
        with pytest.raises(JobCancelled):
            job.result(timeout=10)
    again = mill.submit(question("did revenue rise for nobody?"))
    assert again.is_new
    assert again.result(timeout=30).complete


def page(text: str) -> Report:
    return Report.model_validate({
        "sha1": "joined", "title": "Joined", "company": "Joined", "period": "2022",
        "pages": [{"page": 1, "text": text}],
    })  # fmt: skip


def test_a_search_after_an_ingestion_finds_what_one_in_flight_did_not(
    worker: WorkerProcess, mill: Querymill, openai_server: OpenAIServer
) -> None:
    assert worker.process is not None
    asked = ReportSearch.model_validate({
        "query": "which version does the report say?", "collection": "joined", "documents": ("joined",), "hyde": True,
        "deadline": 60,
    })  # fmt: skip
    finished(mill, IngestReport(collection="joined", report=page("the first version")))
    openai_server.script.chat = held = Held()
    before = mill.submit(asked)
    assert held.came.acquire(timeout=20)
    wait_for_hits(before)
    assert not mill.submit(asked).is_new
    mill.submit(IngestReport(collection="joined", report=page("the second version"))).result(timeout=20)
    after = mill.submit(asked)
    assert after.is_new
    held.go.set()
    assert [hit.text for hit in after.result(timeout=30).results] == ["the second version"]
    assert before.result(timeout=30).job_id == before.id


def wait_for_hits(job: Job[Any]) -> None:
    """Wait until a search has read the store."""
    until = time.monotonic() + 20
    while not job.picture().hits:
        assert time.monotonic() < until
        time.sleep(0.02)


def test_rebuilds_asked_for_together_are_all_done(worker: WorkerProcess, mill: Querymill) -> None:
    assert worker.process is not None
    collection = f"rebuilt-{uuid4().hex[:8]}"
    for number in range(3):
        mill.submit(
            IngestConversation(collection=collection, session=session(f"s{number}", "the pool is exhausted"))
        ).result(timeout=20)
    worker.process.suspend()  # a rebuild that is over by the time of the next is not joined
    try:
        alike = [mill.submit(RecomputeRanks(collection=collection, parts=2)) for _ in range(4)]
        other = [mill.submit(RecomputeRanks(collection=collection, parts=1, mode="pagerank")) for _ in range(2)]
    finally:
        worker.process.resume()
    versions = [job.result(timeout=60).version for job in alike]
    others = [job.result(timeout=60).version for job in other]
    assert len(set(versions)) == len(set(others)) == 1
    finish_embedding(mill)
    # A rebuild each, one after the other.
    first, second = sorted(version or 0 for version in (versions[0], others[0]))
    assert second == first + 1
    assert sum(job.is_new for job in (*alike, *other)) == 2
