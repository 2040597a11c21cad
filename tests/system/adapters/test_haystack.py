"""The component of Haystack: documents, filters, serialisation, pipelines, both ways of waiting, and mistakes."""

import json
from typing import Any

import pytest
from haystack import Pipeline
from haystack.components.builders import PromptBuilder
from haystack.document_stores.types import FilterPolicy
from haystack.errors import FilterError
from haystack.utils import Secret

from querymill import AsyncQuerymill, Querymill, UnknownCollection
from querymill.adapters.haystack import QuerymillRetriever
from querymill.testing import MemoryMill
from tests.fixtures.deployment import Deployment

NORTH = {"field": "meta.region", "operator": "==", "value": "north"}
BOROUGH = {"field": "meta.company", "operator": "in", "value": ["Borough"]}


def test_a_hit_is_a_document_with_its_score(memory: MemoryMill) -> None:
    retriever = QuerymillRetriever(collection="own", client=memory, top_k=1)
    (document,) = retriever.run("how many ships")["documents"]
    assert (document.id, document.content) == ("reports:own/a1#c0", "the fleet counts nine ships")
    assert document.score > 0
    assert document.meta.items() >= {"page": 1, "region": "north", "degraded": []}.items()
    assert len(retriever.run("how many ships", top_k=2)["documents"]) == 2


@pytest.mark.parametrize(
    ("kind", "query", "text"),
    [
        ("conversations", "rain", "rain in Bergen"),
        ("modules", "use vtkConeSource", "run()"),
        ("files", "restore_messages", "def restore_messages(channel):\n    return channel.restore()"),
    ],
)
def test_other_kinds_are_documents_too(memory: MemoryMill, kind: str, query: str, text: str) -> None:
    retriever = QuerymillRetriever(collection="own", kind=kind, client=memory)
    assert retriever.run(query)["documents"][0].content == text


def test_everything_is_searched_in_one_ranking(memory: MemoryMill) -> None:
    retriever = QuerymillRetriever(kind="all", client=memory, top_k=9)
    found = retriever.run("how many ships in the fleet of Bergen")["documents"]
    kinds = {document.meta["kind"]: document for document in reversed(found)}
    assert set(kinds) >= {"reports", "messages", "conversations"}
    assert kinds["reports"].meta.items() >= {"region": "north", "collection": "own"}.items()
    assert [document.score for document in found] == sorted((document.score for document in found), reverse=True)


@pytest.mark.parametrize(
    ("policy", "found"), [(FilterPolicy.REPLACE, 2), (FilterPolicy.MERGE, 0)], ids=["replace", "merge"]
)
def test_filters_of_a_run_replace_or_join_the_others(memory: MemoryMill, policy: FilterPolicy, found: int) -> None:
    retriever = QuerymillRetriever(collection="own", client=memory, filters=BOROUGH, filter_policy=policy)
    assert retriever.run("ships")["documents"] == []
    assert len(retriever.run("ships", filters={"operator": "AND", "conditions": [NORTH]})["documents"]) == found


def test_a_component_is_serialised_without_its_secret(memory: MemoryMill, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN_BOARD", "redis://:hidden@127.0.0.1:1/0")
    retriever = QuerymillRetriever(
        collection="own", kind="messages", filters=NORTH, top_k=3, search_kwargs={"deadline": 3.0},
        filter_policy=FilterPolicy.MERGE, redis_url=Secret.from_env_var("OWN_BOARD"),
    )  # fmt: skip
    pipeline = Pipeline()
    pipeline.add_component("retriever", retriever)
    written = pipeline.dumps()
    assert "hidden" not in written
    again = Pipeline.loads(written, allowed_modules=[QuerymillRetriever.__module__]).get_component("retriever")
    assert isinstance(again, QuerymillRetriever)
    assert again.to_dict() == retriever.to_dict()
    assert json.loads(json.dumps(retriever.to_dict()))["init_parameters"]["filter_policy"] == "merge"
    with pytest.raises(ValueError, match="cannot be serialised; give redis_url or url, or set REDIS_URL"):
        QuerymillRetriever(collection="own", client=memory).to_dict()


def test_it_stands_in_a_pipeline(memory: MemoryMill) -> None:
    pipeline = Pipeline()
    pipeline.add_component("retriever", QuerymillRetriever(collection="own", client=memory, top_k=1))
    pipeline.add_component("prompt", PromptBuilder("{{ documents[0].content }}?", required_variables=["documents"]))
    pipeline.connect("retriever.documents", "prompt.documents")
    assert pipeline.run({"retriever": {"query": "ships"}})["prompt"]["prompt"] == "the fleet counts nine ships?"


def test_mistakes_are_named(memory: MemoryMill) -> None:
    made: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"kind": "books"}, ValueError, "'books' is not one of: reports"),
        ({"top_k": 0}, ValueError, "top_k: must be at least 1"),
        ({"search_kwargs": {"hide": True}}, ValueError, "hide"),
        ({"filters": {**NORTH, "operator": "!="}}, FilterError, "region: operator '!=' is not supported"),
        ({"filters": {"operator": "OR", "conditions": [NORTH]}}, FilterError, "'OR' is not supported"),
        ({"filters": {"region": "north"}}, FilterError, "'field', 'operator' and 'value'"),
        ({"filters": {**NORTH, "field": "published_at"}}, ValueError, "published_at: must be a day"),
    ]
    for wrong, error, said in made:
        with pytest.raises(error, match=said):
            QuerymillRetriever(collection="own", client=memory, **wrong)
    with pytest.raises(UnknownCollection, match="no reports in 'nowhere'"):
        QuerymillRetriever(collection="nowhere", client=memory).run("ships")


@pytest.mark.anyio
async def test_on_real_servers_both_ways_find_the_same(filings: str, deployment: Deployment, mill: Querymill) -> None:
    query = "what was the revenue of Nordhav in 2022?"
    async with AsyncQuerymill(settings=deployment.settings) as client:
        retriever = QuerymillRetriever(collection=filings, top_k=3, client=mill, async_client=client)
        found = (await retriever.run_async(query))["documents"]
    assert found[0].meta["document"] == "a1"
    assert [document.id for document in retriever.run(query)["documents"]] == [document.id for document in found]
