"""What dies, and what must not be lost or doubled by it."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from querymill import IngestReports, JobFailed, Querymill, ReportSearch
from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.events import Done, StageStarted
from querymill_shared.contracts.reports.ingest import Report
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer, embedded, method_of
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment, embedding_after


@pytest.fixture
def victim(filings: str, worker: WorkerProcess) -> Iterator[WorkerProcess]:
    """The only worker there is, alive again afterwards."""
    yield worker
    if worker.process is None:
        worker.start()


def search(query: str, **fields: Any) -> ReportSearch:
    chosen = {"query": query, "collection": "filings", "hyde": True, "return_parent_pages": True, "deadline": 30}
    return ReportSearch.model_validate(chosen | fields)


def scores(mill: Querymill, request: ReportSearch) -> list[tuple[str, int, float]]:
    result = mill.submit(request).result(timeout=30)
    assert result.complete
    return [(hit.document, hit.number, hit.score) for hit in result.results]


def test_a_worker_killed_in_the_middle_costs_seconds_and_changes_no_score(
    mill: Querymill, victim: WorkerProcess, openai_server: OpenAIServer, board_client: redis.Redis
) -> None:
    request = search("how did revenue develop", multi_query=("variant",))
    undisturbed = scores(mill, request)
    for reply in board_client.scan_iter("qm:chat:*"):
        board_client.delete(reply)
    openai_server.script.chat = lambda asked: chat_answer(
        "| revenue | 10 |" if method_of(asked) == "hyde" else "<a question by variant>", after_s=0.6
    )
    job = mill.submit(request)
    time.sleep(0.3)
    victim.kill()
    victim.start()
    result = job.result(timeout=20)
    assert result.complete
    assert [(hit.document, hit.number, hit.score) for hit in result.results] == undisturbed
    assert max(stage.attempt for stage in result.stages) == 2
    assert [type(event) for event in job.events(timeout=1)].count(Done) == 1


def test_bells_that_never_ring_delay_a_job_and_do_not_lose_it(
    deployment: Deployment, mill: Querymill, victim: WorkerProcess
) -> None:
    board = ValkeyBoard.connect(deployment.settings)
    job_id, _ = board.submit(search("a job without a bell"))
    assert mill.job(job_id).result(timeout=15).complete
    board.close()


def test_a_broker_that_is_away_at_submission_delays_a_job_and_does_not_refuse_it(
    deployment: Deployment, filings: str, worker: WorkerProcess
) -> None:
    away = deployment.settings.model_copy(update={"celery_broker_url": "redis://127.0.0.1:1/0"})
    with Querymill(settings=away) as mill:
        assert mill.submit(search(f"no bell {time.monotonic_ns()}")).result(timeout=20).complete


def test_a_bell_rung_many_times_is_answered_once(
    deployment: Deployment, mill: Querymill, victim: WorkerProcess, openai_server: OpenAIServer
) -> None:
    request = search(f"rung often {time.monotonic_ns()}", hyde=False)
    job = mill.submit(request)
    for _ in range(10):
        deployment.ring(job.id, request)
    job.result(timeout=10)
    time.sleep(0.5)
    events = list(job.events(timeout=1))
    assert events.count(StageStarted(stage="original", attempt=1)) == 1
    assert len(openai_server.seen("embeddings")) == 1


def test_a_step_that_kills_its_worker_is_given_up_as_dead(
    mill: Querymill, victim: WorkerProcess, openai_server: OpenAIServer
) -> None:
    begun = threading.Event()

    def deadly(request: dict[str, Any]) -> Answer:
        begun.set()
        return Answer(embedded(request).body, after_s=1.5)

    openai_server.script.embeddings = deadly
    report = Report.model_validate(
        {"sha1": "d", "title": "t", "company": "c", "pages": [{"page": 1, "text": "deadly"}]}
    )
    request = IngestReports(collection="deadly", documents=(report,))
    job = embedding_after(mill, mill.submit(request))
    for _ in range(3):
        assert begun.wait(20)
        victim.kill()
        begun.clear()
        victim.start()
    with pytest.raises(JobFailed, match="no worker finished it in 3 attempts"):
        job.result(timeout=20)
    assert job.picture().record.state == "dead"
    assert job.picture().request is not None


def test_an_ingestion_killed_half_way_embeds_nothing_twice(
    mill: Querymill, victim: WorkerProcess, openai_server: OpenAIServer
) -> None:
    openai_server.script.embeddings = lambda request: Answer(embedded(request).body, after_s=0.2)
    pages = [{"page": n, "text": f"page {n} tells of subject {n}"} for n in range(40)]
    report = Report.model_validate({"sha1": "long", "title": "t", "company": "Longish", "pages": pages})
    request = IngestReports(collection="longish", documents=(report,))
    job = embedding_after(mill, mill.submit(request))
    while len(openai_server.seen("embeddings")) < 3:
        time.sleep(0.02)
    victim.kill()
    victim.start()
    job.result(timeout=30)
    wanted = {page["text"] for page in pages}
    texts = [text for asked in openai_server.seen("embeddings") for text in asked["input"] if text in wanted]
    assert set(texts) == wanted
    assert len(texts) <= 40 + 8  # at most the batch that was under way is embedded again
    assert scores(mill, search("what does Longish tell of subject 39", collection="longish", hyde=False))
