"""The vector channel of `modules`, in memory: descriptions are embedded after an ingestion, and compared on request."""

from typing import Any

import pytest

from querymill_shared.contracts.modules.search import ModuleResult, ModuleSearch
from querymill_shared.contracts.vectors import EmbedDocuments, EmbedDocumentsResult
from querymill_workers.jobs.faults import Unavailable
from tests.fixtures.world import World, example

CONE = example(0, "vtkConeSource", description="A red cone", code="cone()")
SKY = example(1, "vtkSkybox", description="A blue sky above the sea", code="sky()")
SOUP = example("soup.js", "vtkPlane", description="", code="cut()")


def ask(world: World, query: str, **fields: object) -> ModuleResult:
    request = ModuleSearch.model_validate({"query": query, "collection": "code"} | fields)
    result = world.result(world.run(request))
    assert isinstance(result, ModuleResult)
    return result


def documents(result: ModuleResult) -> list[int | str]:
    return [hit.document for hit in result.results]


def test_descriptions_are_embedded_after_an_ingestion_and_each_hit_names_the_channel(world: World) -> None:
    world.ingest_code(CONE, SKY, SOUP)
    assert world.embeddings.asked == [("A red cone", "passage"), ("A blue sky above the sea", "passage")]
    result = ask(world, "blue sky", channels=["vectors"])
    assert result.complete
    assert documents(result) == [1, 0]
    hit = result.results[0]
    assert hit.channels["vectors"]["rank"] == 1
    assert hit.score == pytest.approx(0.25 / 61, abs=1e-6)
    formula = {"formula": "Σ weight / (k + rank)", "k": 60, "weights": {"vectors": 0.25}}
    assert hit.explanation == formula | {"vectors_weight_from": "kind"}


def test_the_default_of_an_english_request_compares_no_vector_and_of_a_chinese_one_it_does(world: World) -> None:
    world.ingest_code(CONE, SKY)
    world.embeddings.asked.clear()
    assert documents(ask(world, "a cone")) == [0]
    assert world.embeddings.asked == []
    result = ask(world, "设置背景颜色为蓝色")
    assert world.embeddings.asked == [("设置背景颜色为蓝色", "query")]
    assert all("vectors" in hit.channels for hit in result.results)
    assert result.results


def test_each_given_sub_query_is_compared_once_with_its_share(world: World) -> None:
    world.ingest_code(CONE, SKY)
    world.embeddings.asked.clear()
    for weights, order in (((10, 3), [0, 1]), ((3, 10), [1, 0])):
        parts: list[dict[str, Any]] = [
            {"description": text, "weight": weight}
            for text, weight in zip(("red cone", "blue sky"), weights, strict=True)
        ]
        result = ask(world, "an example", sub_queries=parts, channels=["vectors"])
        assert documents(result) == order
        shares = {f"vectors:{place}": pytest.approx(0.25 * weight / 13) for place, weight in enumerate(weights, 1)}
        assert result.results[0].explanation["weights"] == shares
    assert world.embeddings.asked == [("red cone", "query"), ("blue sky", "query")] * 2


def test_without_the_provider_words_answer_and_the_result_says_so(world: World) -> None:
    world.ingest_code(CONE, SKY)
    world.embeddings.fails_with = Unavailable("embedding: no answer in time")
    result = ask(world, "cone", channels=["modules", "text", "vectors"])
    assert documents(result) == [0]
    assert [(gap.stage, gap.reason) for gap in result.degraded] == [("vectors", "embedding: no answer in time")]
    assert not result.complete
    job_id = world.run(ModuleSearch(query="cone", collection="code", channels=("vectors",)))
    assert world.board.result(job_id) is None


def test_what_waits_for_a_vector_is_counted(world: World) -> None:
    world.embeddings.fails_with = Unavailable("embedding: no answer in time")
    world.ingest_code(CONE, SKY, SOUP)
    world.embeddings.fails_with = None
    result = ask(world, "cone", channels=["text", "vectors"])
    assert documents(result) == [0]
    assert [(gap.stage, gap.reason) for gap in result.degraded] == [("embed", "2 descriptions pending")]
    done = world.result(world.run(EmbedDocuments(collection="code", retriever="modules")))
    assert isinstance(done, EmbedDocumentsResult)
    assert (done.total, done.pending) == (2, 0)
    assert ask(world, "cone", channels=["text", "vectors"]).complete


def test_a_changed_description_waits_again_and_an_unchanged_one_keeps_its_vector(world: World) -> None:
    world.ingest_code(CONE, SKY)
    world.embeddings.asked.clear()
    world.ingest_code(CONE | {"code": "other()"})
    assert world.embeddings.asked == []
    world.ingest_code(CONE | {"meta_info": CONE["meta_info"] | {"description": "A green cone"}})  # type: ignore[operator]
    assert world.embeddings.asked == [("A green cone", "passage")]


def test_a_filter_chooses_the_documents_that_are_compared(world: World) -> None:
    world.ingest_code(*(CONE | {"faiss_id": n, "team": "red"} for n in range(9)), SKY | {"team": "blue"})
    result = ask(world, "red cone", channels=["vectors"], candidates=1, top_k=1, filter={"team": "blue"})
    assert documents(result) == [1]


def test_a_description_longer_than_the_models_input_is_compared_in_passages(world: World) -> None:
    words = " ".join(f"word{n}" for n in range(40))
    long = example(7, "vtkActor", description=f"{words}. The whale is here.")
    world.ingest_code(long)
    world.embeddings.asked.clear()
    world.embeddings.max_text_tokens = 20
    world.ingest_code(long)  # it is cut for the smaller input of another model
    assert len(world.embeddings.asked) > 2
    assert documents(ask(world, "whale", channels=["vectors"])) == [7]
