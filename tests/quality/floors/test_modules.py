"""What `modules` must reach on the set of `modules.py`, by the real flow over the adapters in memory."""

import math
from typing import Any

import pytest

from querymill_shared.contracts.modules.ingest import IngestModule, ModuleDocument
from querymill_shared.contracts.modules.search import ModuleResult, ModuleSearch
from querymill_shared.shorthands import MODULE_SHORTHANDS
from tests.fixtures.world import World, new_world
from tests.quality.floors.modules import DOCUMENTS, QUESTIONS, TOPICS, WEIGHTED

#: Measured: nDCG@10 1.0, recall@10 1.0 over `QUESTIONS`.
LEAST_NDCG, LEAST_RECALL = 0.95, 0.95
#: Ten of the questions in each run, all of them at night.
ASKED = pytest.mark.parametrize(
    "part", [slice(-10, None), pytest.param(slice(None), marks=pytest.mark.nightly)], ids=["few", "all"]
)


@pytest.fixture(scope="module")
def loaded() -> World:
    world = new_world()
    world.with_ports(shorthands=MODULE_SHORTHANDS)
    for document in DOCUMENTS:
        world.run(IngestModule(collection="samples", document=ModuleDocument.model_validate(document)))
    return world


def found(world: World, query: str, **fields: Any) -> list[int | str]:
    request = ModuleSearch.model_validate({"collection": "samples", "query": query, "top_k": 10} | fields)
    result = world.result(world.run(request))
    assert isinstance(result, ModuleResult)
    return [hit.document for hit in result.results]


@ASKED
def test_single_requests_reach_the_floor(loaded: World, part: slice) -> None:
    gains, recalls = [], []
    for query, topics in QUESTIONS[part]:
        gold, hits = {TOPICS[topic] for topic in topics}, found(loaded, query)
        ideal = math.fsum(1 / math.log2(place + 2) for place in range(len(gold)))
        gains.append(math.fsum(1 / math.log2(place + 2) for place, hit in enumerate(hits) if hit in gold) / ideal)
        recalls.append(len(gold.intersection(hits)) / len(gold))
    assert math.fsum(gains) / len(gains) >= LEAST_NDCG, [
        query for (query, _), gain in zip(QUESTIONS[part], gains, strict=True) if gain < 1
    ]
    assert math.fsum(recalls) / len(recalls) >= LEAST_RECALL


@pytest.mark.nightly
@pytest.mark.parametrize(("more", "less"), WEIGHTED)
def test_swapping_the_weights_swaps_the_documents(loaded: World, more: tuple[str, str], less: tuple[str, str]) -> None:
    (one, first), (other, second) = more, less
    query = f"{one}, {other}"
    for weights, expected in (((10, 3), (first, second)), ((3, 10), (second, first))):
        parts = [{"description": one, "weight": weights[0]}, {"description": other, "weight": weights[1]}]
        # The vectors in memory know words alone, and would be joined for a Chinese request: they say nothing of it.
        hits = found(loaded, query, sub_queries=parts, channels=["modules", "text"])
        assert hits[0] == TOPICS[expected[0]], hits
        assert TOPICS[expected[1]] in hits[:6], hits
