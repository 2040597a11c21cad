"""A LlamaIndex retriever.

>>> from querymill.adapters.llama_index import QuerymillRetriever
>>> retriever = QuerymillRetriever("filings", similarity_top_k=5, search_kwargs={"hyde": True})
>>> nodes = retriever.retrieve("How did margins develop?")
>>> everything = QuerymillRetriever(kind="all")
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from querymill.adapters.clients import Clients, Place
from querymill.adapters.conditions import conditions_of
from querymill.adapters.passages import RetrievedPassage
from querymill.adapters.searching import AskedSearch, Searching
from querymill.client.mill import AsyncQuerymill, Querymill
from querymill.install_hints import install_hint

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.constants import DEFAULT_SIMILARITY_TOP_K
    from llama_index.core.memory import BaseMemory
    from llama_index.core.schema import (
        IndexNode,
        NodeRelationship,
        NodeWithScore,
        QueryBundle,
        RelatedNodeInfo,
        TextNode,
    )
    from llama_index.core.vector_stores import FilterCondition, MetadataFilters
except ModuleNotFoundError as error:
    raise ImportError(f"llama-index-core is not installed; {install_hint('llama-index')}") from error

#: What a model that reads a node does not need of its metadata.
_NOT_SHOWN: Final = [
    "band", "collection", "degraded", "document", "excerpt", "file_kind", "found_by", "kind", "matched_keywords",
    "message_id", "message_number", "must_use", "number", "placed_by", "placed_for", "raw_similarity", "relevance",
    "round", "session_id", "similarity", "tokens", "unit", "vector_id", "vector_type", "why",
]  # fmt: skip


class QuerymillRetriever(BaseRetriever):
    """Search a collection of Querymill, or all of them.

    Nodes have an id, the text and the score. Their metadata holds ``kind``, ``collection``, ``document``, what the kind
    knows (``page``, ``title`` …), what was ingested with the document, and ``degraded``: what the search lacked.
    Of these, models are shown what a reader would need. The source of a node is its document.

    Args:
        collection: What is searched.
        kind: reports, messages, conversations, modules, files, or all: every kind in one ranking, in the collection or,
            without one, in all.
        similarity_top_k: Number of nodes returned.
        filters: Conditions that must all hold: equal, in, at least, at most, contains, any, is empty.
        search_kwargs: Fields of that kind's request: ``hyde``, ``rerank``, ``deadline`` …, and ``labels``.
        memory: The chat in which questions are asked: what they refer back to is searched, too.
        client: Serves `retrieve`. Without it, ``url`` names a gateway, or REDIS_URL says where the board is.
        aclient: Serves `aretrieve`. With a ``client`` alone, `aretrieve` waits in a thread.
        redis_url: Where the board is.
        url: A gateway to call in place of the board.
        api_key: The key that the gateway asks for.
        callback_manager: See `BaseRetriever`, also for the arguments after it.

    Raises:
        ValueError: A filter cannot be searched with, or there is no such kind.
        pydantic.ValidationError: A field breaks a rule; the error names both.
    """

    def __init__(
        self,
        collection: str | None = None,
        kind: str = "reports",
        similarity_top_k: int = DEFAULT_SIMILARITY_TOP_K,
        *,
        filters: MetadataFilters | None = None,
        search_kwargs: Mapping[str, Any] | None = None,
        memory: BaseMemory | None = None,
        client: Querymill | None = None,
        aclient: AsyncQuerymill | None = None,
        redis_url: str | None = None,
        url: str | None = None,
        api_key: str | None = None,
        callback_manager: CallbackManager | None = None,
        object_map: dict[str, Any] | None = None,
        objects: list[IndexNode] | None = None,
        verbose: bool = False,
    ) -> None:
        fields = dict(search_kwargs or {})
        if filters is not None:
            fields["filter"] = {**fields.get("filter", {}), **conditions_of(_comparisons(filters))}
        clients = Clients(client, aclient, Place(redis_url, url, api_key))
        self._searching = Searching(kind, collection, fields, clients, "similarity_top_k")
        self._searching.check(similarity_top_k)
        self.similarity_top_k = similarity_top_k
        self.memory = memory
        super().__init__(callback_manager, object_map, objects, verbose)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        said = None if self.memory is None else self.memory.get_all()
        return _nodes(self._searching.run(self._request(query_bundle, said)))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        said = None if self.memory is None else await self.memory.aget_all()
        return _nodes(await self._searching.run_async(self._request(query_bundle, said)))

    def _request(self, query_bundle: QueryBundle, said: Sequence[ChatMessage] | None) -> AskedSearch:
        question = query_bundle.query_str
        # Chat engines put the question into the memory before they retrieve.
        before = said[:-1] if said and said[-1].content == question else said
        fields = {} if before is None else {"history": before}
        return self._searching.request(question, self.similarity_top_k, fields)


def _nodes(passages: Sequence[RetrievedPassage]) -> list[NodeWithScore]:
    return [NodeWithScore(node=_node(passage), score=passage.score) for passage in passages]


def _node(passage: RetrievedPassage) -> TextNode:
    return TextNode(
        id_=passage.id,
        text=passage.text,
        metadata=passage.metadata,
        excluded_llm_metadata_keys=_NOT_SHOWN,
        excluded_embed_metadata_keys=_NOT_SHOWN,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=passage.document)},
    )


def _comparisons(filters: MetadataFilters) -> Iterator[tuple[str, str, Any]]:
    if filters.condition != FilterCondition.AND:
        condition = None if filters.condition is None else filters.condition.value
        raise ValueError(f"filters: condition {condition!r} is not supported; all must hold ('and')")
    for each in filters.filters:
        if isinstance(each, MetadataFilters):
            yield from _comparisons(each)
        else:
            yield each.key, each.operator.value, each.value
