"""The retriever of LlamaIndex: nodes, filters, callbacks, both ways of waiting, and mistakes."""

from typing import Any

import pytest
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.schema import MetadataMode, QueryBundle
from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from querymill import AsyncQuerymill, Querymill, UnknownCollection
from querymill.adapters.llama_index import QuerymillRetriever
from querymill.testing import MemoryMill
from tests.fixtures.deployment import Deployment


def filters(*conditions: tuple[str, FilterOperator, Any], joined: FilterCondition = FilterCondition.AND) -> Any:
    return MetadataFilters(
        filters=[MetadataFilter(key=key, operator=operator, value=value) for key, operator, value in conditions],
        condition=joined,
    )


def test_a_hit_is_a_node_with_its_score_and_its_source(memory: MemoryMill) -> None:
    told = LlamaDebugHandler(print_trace_on_end=False)
    retriever = QuerymillRetriever("own", client=memory, callback_manager=CallbackManager([told]))
    first, second = retriever.retrieve("how many ships")
    assert first.score is not None
    assert second.score is not None
    assert first.score > second.score
    assert (first.node.node_id, first.node.ref_doc_id) == ("reports:own/a1#c0", "a1")
    assert first.node.metadata.items() >= {"page": 1, "region": "north", "degraded": []}.items()
    shown = first.node.get_content(MetadataMode.LLM)
    assert shown == "region: north\npage: 1\ntitle: Nordhav 2022\ncompany: Nordhav\n\nthe fleet counts nine ships"
    assert [pair[0].event_type for pair in told.get_event_pairs()] == [CBEventType.RETRIEVE]


@pytest.mark.parametrize(
    ("kind", "query", "text"),
    [
        ("messages", "rain", "rain in Bergen"),
        ("modules", "use vtkConeSource", "run()"),
        ("files", "restore_messages", "def restore_messages(channel):\n    return channel.restore()"),
    ],
)
def test_other_kinds_are_nodes_too(memory: MemoryMill, kind: str, query: str, text: str) -> None:
    retriever = QuerymillRetriever("own", kind, client=memory)
    assert retriever.retrieve(QueryBundle(query))[0].node.get_content() == text


def test_everything_is_searched_in_one_ranking(memory: MemoryMill) -> None:
    found = QuerymillRetriever(kind="all", similarity_top_k=9, client=memory).retrieve("ships in the fleet of Bergen")
    kinds = {each.node.metadata["kind"]: each.node for each in reversed(found)}
    assert set(kinds) >= {"reports", "messages", "conversations"}
    assert kinds["reports"].ref_doc_id == "a1"
    assert kinds["reports"].metadata.items() >= {"region": "north", "collection": "own"}.items()


def test_filters_choose_documents(memory: MemoryMill) -> None:
    def found(wanted: Any, **fields: Any) -> int:
        return len(QuerymillRetriever("own", client=memory, filters=wanted, search_kwargs=fields).retrieve("ships"))

    north = filters(("region", FilterOperator.EQ, "north"))
    assert found(north) == 2
    assert found(filters(("region", FilterOperator.IN, ["south", "west"]))) == 0
    assert found(MetadataFilters(filters=[north, filters(("company", FilterOperator.EQ, "Borough"))])) == 0
    assert found(north, filter={"company": "Borough"}) == 0


def test_mistakes_are_named(memory: MemoryMill) -> None:
    either = [("region", FilterOperator.EQ, "north"), ("region", FilterOperator.EQ, "south")]
    for wrong, said in (
        ({"kind": "books"}, "'books' is not one of: reports"),
        ({"similarity_top_k": 0}, "similarity_top_k: must be at least 1"),
        ({"search_kwargs": {"hide": True}}, "hide"),
        ({"filters": filters(("year", FilterOperator.GT, 3))}, "year: operator '>' is not supported"),
        ({"filters": filters(*either, joined=FilterCondition.OR)}, "condition 'or' is not supported"),
        ({"filters": filters(("published_at", FilterOperator.EQ, "soon"))}, "published_at: must be a day"),
    ):
        with pytest.raises(ValueError, match=said):
            QuerymillRetriever("own", client=memory, **wrong)
    with pytest.raises(UnknownCollection, match="no reports in 'nowhere'"):
        QuerymillRetriever("nowhere", client=memory).retrieve("ships")


@pytest.mark.anyio
async def test_on_real_servers_both_ways_find_the_same(filings: str, deployment: Deployment, mill: Querymill) -> None:
    async with AsyncQuerymill(settings=deployment.settings) as client:
        retriever = QuerymillRetriever(filings, similarity_top_k=3, client=mill, aclient=client)
        found = await retriever.aretrieve("what was the revenue of Nordhav in 2022?")
    assert found[0].node.metadata["document"] == "a1"
    again = retriever.retrieve("what was the revenue of Nordhav in 2022?")
    assert [node.node.node_id for node in again] == [node.node.node_id for node in found]
