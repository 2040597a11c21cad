"""A rerank from the client's call to the new order: real board, real worker, scripted judges."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from querymill import Querymill, Rerank, RerankResult
from querymill_shared.contracts.events import Done, Hits, Queued
from tests.fakes.judging import judging, passages_of
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import Deployment
from tests.fixtures.short_forms import all_at_night


def hits(count: int) -> list[dict[str, Any]]:
    return [{"id": n, "text": f"passage number {n}", "score": 0.5} for n in range(count)]


def asked(count: int = 3, **fields: Any) -> Rerank:
    chosen = {"query": "which number?", "collection": "never-ingested", "hits": hits(count), "deadline": 30}
    return Rerank.model_validate(chosen | fields)


def by_number(text: str) -> float:
    """The higher the number in the passage, the more relevant."""
    return int(text.split()[-1]) / 100


def order(result: RerankResult) -> list[str | int]:
    return [hit.id for hit in result.results]


@pytest.mark.usefixtures("worker")
def test_hits_are_reranked_without_a_collection(mill: Querymill, openai_server: OpenAIServer) -> None:
    openai_server.script.chat = judging(by_number)
    job = mill.submit(asked(25))
    result = job.result(timeout=30)
    assert order(result) == list(range(24, -1, -1))
    assert (result.complete, result.total, result.usage["provider_calls"]) == (True, 25, 3)
    events = list(job.events(timeout=10))
    assert events[0] == Queued(stages=("batch-01", "batch-02", "batch-03"))
    assert events[-1] == Done(complete=True)


@pytest.mark.usefixtures("worker")
def test_batches_run_side_by_side_and_the_judged_are_told_meanwhile(
    mill: Querymill, openai_server: OpenAIServer
) -> None:
    numbers: list[int] = []
    beside, told = threading.Event(), threading.Event()

    def one_is_faster(request: dict[str, Any]) -> Answer:
        numbers.append(int(passages_of(request)[1].split()[-1]))
        if len(numbers) == 1:
            assert beside.wait(15)  # one batch after the other, this one would wait in vain
        else:
            beside.set()
            told.wait(15)
        return judging(by_number)(request)

    openai_server.script.chat = one_is_faster
    events = mill.submit(asked(50)).events(timeout=40)
    judged = next(event for event in events if isinstance(event, Hits))
    assert [hit.key for hit in judged.hits] == [str(numbers[0] + n) for n in range(9, -1, -1)]
    told.set()
    assert list(events)[-1] == Done(complete=True)


@pytest.mark.usefixtures("worker")
def test_at_the_deadline_what_is_judged_comes_first(mill: Querymill, openai_server: OpenAIServer) -> None:
    is_over = threading.Event()

    def slow(request: dict[str, Any]) -> Answer:
        assert "number 10" in passages_of(request)[1] or is_over.wait(30)
        return judging(by_number)(request)

    openai_server.script.chat = slow
    started = time.monotonic()
    result = mill.submit(asked(25, deadline=4)).result(timeout=60)
    assert time.monotonic() - started < 18
    is_over.set()
    assert order(result) == [*range(19, 9, -1), *range(10), *range(20, 25)]
    assert [part.stage for part in result.degraded] == ["batch-01", "batch-03"]
    assert not result.complete


FAILURES = {
    "prose": chat_answer("The first is the best."),
}


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES.keys())
def test_a_judge_that_only_fails_gives_the_callers_order_and_says_why(
    mill: Querymill, openai_server: OpenAIServer, answer: Answer
) -> None:
    openai_server.script.chat = lambda request: answer
    result = mill.submit(asked(3)).result(timeout=30)
    assert order(result) == [0, 1, 2]
    (part,) = result.degraded
    assert part.stage == "batch-01"
    assert part.reason.startswith("chat model")
    assert not any(hit.judged for hit in result.results)


@pytest.mark.usefixtures("worker")
def test_no_query_and_no_passage_of_a_rerank_is_logged(
    mill: Querymill, worker: WorkerProcess, openai_server: OpenAIServer
) -> None:
    openai_server.script.chat = lambda request: chat_answer("no JSON about zanzibar")
    request = asked(query="zanzibar turnover", hits=[{"id": "zanzibar-1", "text": "zanzibar text", "score": 1}])
    assert not mill.submit(request).result(timeout=30).complete
    assert "zanzibar" not in worker.log


@pytest.fixture
def endpoint_worker(
    deployment: Deployment, worker: WorkerProcess, openai_server: OpenAIServer
) -> Iterator[WorkerProcess]:
    """A worker whose settings name a rerank endpoint; the other steps aside."""
    worker.kill()
    named = {"RERANK_BASE_URL": openai_server.url, "RERANK_MODEL": "judge-1", "RERANK_API_KEY": "k"}
    with WorkerProcess(deployment.environment | named) as process:
        yield process
    worker.start()


@pytest.mark.usefixtures("endpoint_worker")
def test_a_rerank_endpoint_judges_where_one_is_set(mill: Querymill, openai_server: OpenAIServer) -> None:
    def score(request: dict[str, Any]) -> Answer:
        results = [{"index": n, "relevance_score": by_number(text)} for n, text in enumerate(request["documents"])]
        return Answer(json.dumps({"results": results[::-1]}).encode())

    openai_server.script.rerank = score
    result = mill.submit(asked(12)).result(timeout=30)
    assert order(result) == list(range(11, -1, -1))
    assert openai_server.seen("completions") == []
    assert [body["model"] for body in openai_server.seen("rerank")] == ["judge-1"] * 2


# The command.


@pytest.fixture
def querymill(deployment: Deployment) -> CommandLine:
    return CommandLine(deployment.environment)


def write(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.usefixtures("worker")
def test_the_command_reranks_a_file(querymill: CommandLine, openai_server: OpenAIServer, tmp_path: Path) -> None:
    openai_server.script.chat = judging(by_number)
    path = write(tmp_path / "hits.json", {"query": "which number?", "hits": hits(3)})
    run = querymill("rerank", path, "--json")
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert (found["kind"], found["state"], found["collection"]) == ("rerank", "done", "default")
    assert [hit["id"] for hit in found["results"]] == [2, 1, 0]
    weighted = json.loads(querymill("rerank", path, "--combine", "weighted", "--top-n", "1", "--json").stdout)
    assert weighted["results"][0]["score"] == pytest.approx(0.7 * 0.02 + 0.3 * 0.5)
    assert (len(weighted["results"]), weighted["total"]) == (1, 3)


@pytest.mark.usefixtures("worker")
def test_the_command_explains_each_score(querymill: CommandLine, openai_server: OpenAIServer, tmp_path: Path) -> None:
    openai_server.script.chat = judging(lambda text: 0.8 if "2" in text else 100)
    path = write(tmp_path / "hits.json", {"query": "which number?", "hits": hits(3)})
    run = querymill("rerank", path)
    assert run.returncode == 0, run.stderr
    assert "0.4000  2" in run.stdout
    assert "0.8 × 0.5   (it was 3)" in run.stdout
    assert "nobody judged it" in run.stdout
    assert "batch-01: no relevance from the judge for: 0, 1" in run.stdout


WRONG: list[tuple[object, tuple[str, ...], str]] = [
    ({"hits": hits(1)}, (), "query: Field required"),
    ('{"query": "q", "hits": [{"id": 1, "text": "t", "score": NaN}]}', (), "hits.0.score: "),
    ({"query": "q", "hits": hits(1)}, ("--combine", "sum"), "combine: "),
    ("{", (), "FILE: "),
    ("[]", (), "must hold one JSON object"),
]


@pytest.mark.parametrize(("content", "options", "message"), all_at_night(WRONG, short=WRONG[1::2]))
def test_a_bad_file_exits_with_two_and_names_the_field_and_the_rule(
    querymill: CommandLine, tmp_path: Path, content: object, options: tuple[str, ...], message: str
) -> None:
    run = querymill("rerank", write(tmp_path / "hits.json", content), *options, "--json")
    assert run.returncode == 2, run.stdout + run.stderr
    assert message in run.stderr
    assert "Traceback" not in run.stderr


def test_a_file_that_is_not_there_exits_with_two(querymill: CommandLine) -> None:
    run = querymill("rerank", "missing.json")
    assert run.returncode == 2
    assert "FILE: missing.json" in run.stderr
