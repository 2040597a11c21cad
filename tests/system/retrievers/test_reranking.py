"""A judge at the end of a search, with real servers: each kind, and a search over everything."""

from collections.abc import Iterator
from typing import Any

import pytest

from querymill import Querymill
from querymill_shared.contracts.kinds import SEARCHES
from querymill_shared.contracts.rerank import judges_batch
from querymill_shared.contracts.search import Search
from tests.fakes.judging import judging
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment, ended
from tests.fixtures.people import ingestion
from tests.system.retrievers.test_expansion import document as other_document

COLLECTION = "judged"
QUESTION = "which line stays open"
NEAR, MEANT = "the line at the {} stays open", "the line stays open by the idle connection of the seven who wait there"
NAMES = ("gate", "door", "shop")


def document(kind: str, name: str, text: str) -> dict[str, Any]:
    if kind == "reports":
        return {"sha1": name, "title": name, "pages": [{"page": 1, "text": text}]}
    return other_document(kind, name, text)


@pytest.fixture(scope="module")
def held() -> set[str]:
    """The kinds whose documents were ingested."""
    return set()


@pytest.fixture
def filled(held: set[str], mill: Querymill, worker: WorkerProcess, openai_server: OpenAIServer) -> Querymill:
    """A fleet that holds, of each kind, three documents with the words of the question, and one that is meant."""
    kinds: Any = SEARCHES
    for kind in kinds:
        if kind not in held:
            near = [document(kind, name, NEAR.format(name)) for name in NAMES]
            ended(mill, mill.submit(ingestion(kind, COLLECTION, *near, document(kind, "meant", MEANT))))
            held.add(kind)
    return mill


def asked(kind: str, **fields: Any) -> Any:
    chosen = {"query": QUESTION, "collection": COLLECTION, "deadline": 30, "rerank": "auto"}
    return SEARCHES[kind].model_validate(chosen | fields)


def oracle(text: str) -> float:
    return 1.0 if "idle connection" in text else 0.1


def says(hit: Any) -> str:
    return str(hit.model_dump(exclude={"explanation"}))


@pytest.mark.parametrize("kind", SEARCHES)
def test_the_judge_brings_what_is_meant_to_the_top(kind: str, filled: Querymill, openai_server: OpenAIServer) -> None:
    openai_server.script.chat = judging(oracle)
    result = filled.submit(asked(kind)).result(timeout=30)
    assert result.complete, result.degraded
    assert "meant" in says(result.results[0]) or "idle connection" in says(result.results[0])
    assert result.results[0].explanation["rerank"]["relevance"] == 1.0
    assert [stage.name for stage in result.stages][-1] == "rerank-01"


def test_everything_is_judged_in_one_ranking(filled: Querymill, openai_server: OpenAIServer) -> None:
    openai_server.script.chat = judging(oracle)
    everything = Search(query=QUESTION, collections=(COLLECTION,), rerank=True, top_k=5, deadline=30)
    result = filled.submit(everything).result(timeout=30)
    assert result.complete, result.degraded
    assert {hit.kind for hit in result.results} == set(SEARCHES)
    assert {hit.explanation["rerank"]["relevance"] for hit in result.results} == {1.0}


def test_a_judge_that_hangs_costs_its_share_and_no_more(filled: Querymill, openai_server: OpenAIServer) -> None:
    openai_server.script.chat = lambda request: judging(oracle, after_s=20.0)(request)
    hung = filled.submit(asked("messages", query="which line stays open at night", deadline=4.5))
    result = hung.result(timeout=10)
    assert [(part.stage, part.code) for part in result.degraded] == [("rerank-01", "slow")]
    assert len(result.results) == 4
    (batch,) = [stage for stage in result.stages if stage.name == "rerank-01"]
    assert batch.ms is not None
    assert batch.ms < 2_500  # 1.5 s are its share


WRONG: list[tuple[str, Answer]] = [
    ("no JSON", chat_answer("the second passage is the best")),
    ("another shape", chat_answer('{"ranking": [2, 1]}')),
    ("outside 0 to 1", chat_answer('{"judgements": [{"id": 1, "relevance": 9}, {"id": 77, "relevance": 0.5}]}')),
    ("an error", Answer(b'{"error": {"message": "no", "type": "invalid_request_error"}}', 400)),
]


@pytest.mark.parametrize("reply", [reply for _, reply in WRONG], ids=[what for what, _ in WRONG])
def test_what_is_no_judgement_leaves_the_order_of_the_search(
    reply: Answer, filled: Querymill, openai_server: OpenAIServer, request: pytest.FixtureRequest
) -> None:
    openai_server.script.chat = lambda _: reply
    query = f"which line stays open, {request.node.callspec.id}"
    result = filled.submit(asked("messages", query=query, deadline=9)).result(timeout=15)
    alone = filled.submit(asked("messages", query=query, rerank=False)).result(timeout=30)
    assert [hit.vector_id for hit in result.results] == [hit.vector_id for hit in alone.results]
    assert [part.stage for part in result.degraded] == ["rerank-01"]


@pytest.fixture
def worker_without_a_judge(deployment: Deployment, worker: WorkerProcess) -> Iterator[WorkerProcess]:
    """A worker that has no chat model to write answers, and no address of one; the other steps aside."""
    worker.kill()
    nobody = {"QUERYMILL_ANSWERS": "quoted", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    with WorkerProcess(deployment.environment | nobody) as process:
        yield process
    worker.start()


def test_without_a_judge_auto_says_nothing_and_true_says_so(
    filled: Querymill, worker_without_a_judge: WorkerProcess
) -> None:
    query = "which line stays open, without a judge"
    unasked = filled.submit(asked("messages", query=query)).result(timeout=30)
    assert unasked.complete, unasked.degraded
    assert not any(judges_batch(stage.name) for stage in unasked.stages)
    wanted = filled.submit(asked("messages", query=query, rerank=True, deadline=9)).result(timeout=15)
    assert [hit.vector_id for hit in wanted.results] == [hit.vector_id for hit in unasked.results]
    assert [(part.stage, part.code) for part in wanted.degraded] == [("rerank-01", "provider_down")]
