"""Code documents from the client to the result: real servers, a real worker."""

import time
from typing import Any
from uuid import uuid4

import pymongo
import pytest

from querymill import (
    EmbedDocuments,
    IngestModules,
    JobFailed,
    LearnLexicon,
    ModuleDocument,
    ModuleSearch,
    Querymill,
    Reembed,
)
from querymill_shared.contracts.events import Done
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.boards import board_of
from tests.fixtures.deployment import Deployment


def document(number: int, *names: str, description: str) -> ModuleDocument:
    return ModuleDocument.model_validate({
        "faiss_id": number, "file_path": f"{number}.js", "code": f"run({number})",
        "meta_info": {"vtkjs_modules": names, "description": description},
    })  # fmt: skip


DOCUMENTS = [
    *(document(n, "vtk.Filters.Sources.vtkConeSource", "vtkActor", description="an orange cone") for n in range(4)),
    *(document(n, "vtkPlane", "vtkCutter", description="cut by a plane") for n in range(4, 12)),
]


def ingest(mill: Querymill) -> str:
    """Ingest a dozen code documents, and return their collection."""
    collection = f"code{uuid4().hex[:8]}"
    for job in [mill.submit(IngestModules(collection=collection, documents=(one,))) for one in DOCUMENTS]:
        job.result(timeout=30)
    mill.submit(EmbedDocuments(collection=collection, retriever="modules")).result(timeout=30)
    return collection


@pytest.fixture
def code(worker: WorkerProcess, mill: Querymill, openai_server: OpenAIServer) -> str:
    """A collection of a dozen code documents, ingested through the workers."""
    return ingest(mill)


def search(collection: str, query: str, **fields: Any) -> ModuleSearch:
    return ModuleSearch.model_validate({"query": query, "collection": collection, "channels": ["modules"]} | fields)


def test_a_request_is_answered_by_the_code_that_uses_its_modules(mill: Querymill, code: str) -> None:
    job = mill.submit(search(code, "请用vtkConeSource渲染", top_k=2))
    result = job.result(timeout=10)
    assert [hit.document for hit in result.results] == [0, 1]
    assert (result.total, result.complete) == (4, True)
    assert "run(0)" in result.prompt
    assert list(job.events(timeout=5))[-1] == Done(complete=True)


def test_the_lexicon_is_learned_in_the_background_and_used_by_every_worker(mill: Querymill, code: str) -> None:
    deadline = time.monotonic() + 30
    while not (result := mill.submit(search(code, "something orange")).result(timeout=10)).results:
        assert time.monotonic() < deadline, "no lexicon was learned"
        time.sleep(0.2)
    assert {hit.document for hit in result.results} == {0, 1, 2, 3}
    assert result.lexicon_version >= 1


def test_learning_on_demand_says_what_it_learned(mill: Querymill, code: str) -> None:
    learned = mill.submit(LearnLexicon(collection=code)).result(timeout=30)
    assert learned.documents == 12
    assert learned.total > 0


def test_a_chat_model_splits_the_request(mill: Querymill, code: str, openai_server: OpenAIServer) -> None:
    openai_server.script.chat = lambda request: chat_answer("<9: a vtkPlane> <1: vtkConeSource>")
    result = mill.submit(search(code, "cut it open", split=True)).result(timeout=10)
    assert result.searched_by == "split"
    assert result.results[0].document == 4
    assert {stage.name for stage in result.stages} == {"original", "split"}


def test_a_chinese_request_compares_descriptions_too_and_is_answered_by_words_without_the_provider(
    mill: Querymill, code: str, openai_server: OpenAIServer
) -> None:
    result = mill.submit(ModuleSearch(collection=code, query="切开模型，用 plane")).result(timeout=20)
    assert result.complete, result.degraded
    assert {"vectors", "text"} <= set(result.results[0].channels)
    openai_server.script.embeddings = lambda _: Answer(b"{}", status=503)
    result = mill.submit(ModuleSearch(collection=code, query="把模型切成片，用 plane")).result(timeout=20)
    assert [gap.stage for gap in result.degraded] == ["vectors"]
    assert not result.complete
    assert {hit.document for hit in result.results} <= set(range(4, 12))
    assert result.results


def test_reembedding_makes_only_the_vectors_that_are_missing(
    mill: Querymill, code: str, deployment: Deployment
) -> None:
    request = Reembed(collection=code, retriever="modules", model=deployment.settings.embedding_model)
    assert mill.submit(request).result(timeout=30).total == 0


def test_where_the_settings_name_a_mongodb_the_documents_are_there(
    deployment: Deployment, mill: Querymill, code: str, mongodb_uri: str
) -> None:
    elsewhere = deployment.settings.redis_url.removesuffix("/2") + "/13"
    environment = deployment.environment | {"MONGODB_URI": mongodb_uri, "REDIS_URL": elsewhere}
    with WorkerProcess(environment), Querymill(redis_url=elsewhere, settings=deployment.settings) as other:
        collection = ingest(other)
        with pymongo.MongoClient[dict[str, Any]](mongodb_uri) as client:
            codes = client.get_default_database()["module_codes"]
            assert codes.count_documents({"collection": collection}) == len(DOCUMENTS)
        for query in ("vtkConeSource", "cut by a vtkPlane"):
            theirs, own = (
                asked.submit(search(name, query, lexicon=False, channels=["modules", "text"])).result(timeout=20)
                for asked, name in ((other, collection), (mill, code))
            )
            assert theirs.results == own.results
        assert other.drop("modules", collection=collection, everything=True, timeout=30).total == len(DOCUMENTS)


@pytest.mark.nightly  # by day: unit/dispatch/test_store_away_at_the_end.py
def test_a_mongodb_that_is_away_fails_searches_of_code_with_its_reason_and_stops_no_worker(
    deployment: Deployment, mill: Querymill, code: str
) -> None:
    elsewhere = deployment.settings.redis_url.removesuffix("/2") + "/3"
    environment = deployment.environment | {"MONGODB_URI": "mongodb://127.0.0.1:1/x", "REDIS_URL": elsewhere}
    with WorkerProcess(environment), Querymill(redis_url=elsewhere, settings=deployment.settings) as other:
        board = board_of(other)
        board.add_collections("modules", [code])
        with pytest.raises(JobFailed, match="MongoDB: ServerSelectionTimeoutError"):
            other.submit(search(code, "vtkActor", deadline=8)).result(timeout=15)
