"""The same question asked many times at once, and rebuilds asked for together: worked once, answered to each."""

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis

from querymill import AnswerQuestion, JobCancelled, Querymill
from querymill.client.job import Job
from querymill_shared.contracts.answer import AnswerResult
from querymill_shared.contracts.events import AnswerPart, Done
from tests.fakes.openai_server import Answer, OpenAIServer, chat_stream
from tests.fakes.worker import WorkerProcess

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
