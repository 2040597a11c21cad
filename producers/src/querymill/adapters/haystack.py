"""A Haystack component that retrieves.

>>> from querymill.adapters.haystack import QuerymillRetriever
>>> retriever = QuerymillRetriever(collection="filings", top_k=5, search_kwargs={"hyde": True})
>>> documents = retriever.run("How did margins develop?")["documents"]
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
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.dataclasses import ChatMessage
    from haystack.document_stores.types import FilterPolicy, apply_filter_policy
    from haystack.errors import FilterError
    from haystack.utils import Secret
except ModuleNotFoundError as error:
    raise ImportError(f"haystack-ai is not installed; {install_hint('haystack')}") from error

_BOARD: Final = Secret.from_env_var("REDIS_URL", strict=False)


@component
class QuerymillRetriever:
    """Search a collection of Querymill, or all of them.

    Documents have an id, the content and the score. Their meta holds ``kind``, ``collection``, ``document``, what the
    kind knows (``page``, ``title`` …), what was ingested with the document, and ``degraded``: what the search lacked.

    Haystack loads a stored pipeline only if it trusts the modules of its components:
    ``Pipeline.load(file, allowed_modules=["querymill.adapters.haystack"])``.
    """

    def __init__(
        self,
        *,
        collection: str | None = None,
        kind: str = "reports",
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        search_kwargs: dict[str, Any] | None = None,
        filter_policy: FilterPolicy = FilterPolicy.REPLACE,
        redis_url: Secret | None = _BOARD,
        url: str | None = None,
        api_key: Secret | None = None,
        client: Querymill | None = None,
        async_client: AsyncQuerymill | None = None,
    ) -> None:
        """Create the component.

        Args:
            collection: What is searched.
            kind: reports, messages, conversations, modules, files, or all: every kind in one ranking, in the
                collection or, without one, in all.
            filters: Conditions that must all hold, compared by ``==``, ``in``, ``>=`` and ``<=``.
            top_k: Number of documents returned.
            search_kwargs: Fields of that kind's request: ``hyde``, ``rerank``, ``deadline`` …, and ``labels``.
            filter_policy: Whether the filters of a run replace those given here, or join them.
            redis_url: Where the board is.
            url: A gateway to call in place of the board.
            api_key: The key that the gateway asks for.
            client: Serves `run` in place of them. A component with clients cannot be serialised.
            async_client: Serves `run_async`. With a ``client`` alone, `run_async` waits in a thread.

        Raises:
            haystack.errors.FilterError: Querymill has no such condition.
            ValueError: There is no such kind.
            pydantic.ValidationError: A field breaks a rule; the error names both.
        """
        self.collection = collection
        self.kind = kind
        self.filters = filters
        self.top_k = top_k
        self.search_kwargs = search_kwargs
        self.filter_policy = filter_policy
        self.redis_url = redis_url
        self.url = url
        self.api_key = api_key
        self._given = (client, async_client)
        # The board of the environment is not meant where a gateway is named.
        place = Place(None if url else _plain(redis_url), url, _plain(api_key))
        clients = Clients(client, async_client, place)
        self._searching = Searching(kind, collection, search_kwargs or {}, clients, "top_k")
        self._request("?", None, None)

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component.

        Raises:
            ValueError: It was given a client.
        """
        if any(client is not None for client in self._given):
            raise ValueError("client, async_client: cannot be serialised; give redis_url or url, or set REDIS_URL")
        written: dict[str, Any] = default_to_dict(
            self,
            collection=self.collection,
            kind=self.kind,
            filters=self.filters,
            top_k=self.top_k,
            search_kwargs=self.search_kwargs,
            filter_policy=self.filter_policy.value,
            redis_url=None if self.redis_url is None else self.redis_url.to_dict(),
            url=self.url,
            api_key=None if self.api_key is None else self.api_key.to_dict(),
        )
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "QuerymillRetriever":
        """Make the component that was serialised."""
        written = dict(data["init_parameters"])
        if "filter_policy" in written:
            written["filter_policy"] = FilterPolicy.from_str(written["filter_policy"])
        made: QuerymillRetriever = default_from_dict(cls, {**data, "init_parameters": written})
        return made

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        labels: dict[str, str] | None = None,
        history: list[ChatMessage] | None = None,
    ) -> dict[str, list[Document]]:
        """Search.

        Args:
            query: The question.
            filters: Conditions for this run; ``filter_policy`` says what they do with those of the component.
            top_k: Number of documents returned, if not that of the component.
            labels: Names and values by which the job is found again; those of the component stay.
            history: The messages of the chat before the question: what it refers back to is searched, too.

        Returns:
            ``documents``, best first.

        Raises:
            UnknownCollection: Nothing of this kind was ever ingested into the collection.
            JobFailed: The search failed, with the reason.
            TimeoutError: It did not end by its deadline.
        """
        return {"documents": _documents(self._searching.run(self._request(query, filters, top_k, labels, history)))}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        labels: dict[str, str] | None = None,
        history: list[ChatMessage] | None = None,
    ) -> dict[str, list[Document]]:
        """`run`, awaitable. If the task is cancelled, so is the search."""
        request = self._request(query, filters, top_k, labels, history)
        return {"documents": _documents(await self._searching.run_async(request))}

    def _request(
        self,
        query: str,
        filters: dict[str, Any] | None,
        top_k: int | None,
        labels: dict[str, str] | None = None,
        history: list[ChatMessage] | None = None,
    ) -> AskedSearch:
        chosen = apply_filter_policy(self.filter_policy, self.filters, filters)
        fields: dict[str, Any] = {}
        if chosen:
            own = (self.search_kwargs or {}).get("filter", {})
            fields["filter"] = {**own, **_conditions(chosen)}
        if labels:
            fields["labels"] = {**labels, **(self.search_kwargs or {}).get("labels", {})}
        if history is not None:
            fields["history"] = history
        return self._searching.request(query, self.top_k if top_k is None else top_k, fields)


def _documents(passages: Sequence[RetrievedPassage]) -> list[Document]:
    return [
        Document(id=passage.id, content=passage.text, meta=passage.metadata, score=passage.score)
        for passage in passages
    ]


def _conditions(filters: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return conditions_of(_comparisons(filters))
    except ValueError as error:
        raise FilterError(f"filters: {error}") from error


def _comparisons(filters: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    match filters:
        case {"operator": "AND", "conditions": list(conditions)}:
            for each in conditions:
                yield from _comparisons(each)
        case {"operator": str(operator), "conditions": list()}:
            raise ValueError(f"{operator!r} is not supported; all conditions must hold ('AND')")
        case {"field": str(field), "operator": str(operator), "value": value}:
            yield field.removeprefix("meta."), operator, value
        case _:
            raise ValueError("a condition needs 'field', 'operator' and 'value'")


def _plain(secret: Secret | None) -> str | None:
    value: str | None = None if secret is None else secret.resolve_value()
    return value
