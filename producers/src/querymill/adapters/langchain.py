"""A LangChain retriever.

>>> from querymill.adapters.langchain import QuerymillRetriever
>>> retriever = QuerymillRetriever(collection="filings", k=5, search_kwargs={"hyde": True})
>>> documents = retriever.invoke("How did margins develop?")
>>> everything = QuerymillRetriever(kind="all")
"""

from typing import Any, Self

from pydantic import ConfigDict, Field, PrivateAttr, SecretStr, model_validator

from querymill.adapters.clients import Clients, Place
from querymill.adapters.passages import RetrievedPassage
from querymill.adapters.searching import Searching
from querymill.client.mill import AsyncQuerymill, Querymill
from querymill.install_hints import install_hint

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ModuleNotFoundError as error:
    raise ImportError(f"langchain-core is not installed; {install_hint('langchain')}") from error


class QuerymillRetriever(BaseRetriever):
    """Search a collection of Querymill, or all of them.

    ``kind`` is reports, messages, conversations, modules, files, or all: every kind in one ranking, in the collection
    or, without one, in all. ``k`` is the number of documents returned.
    ``search_kwargs`` are fields of that kind's request: ``hyde``, ``rerank``, ``filter``, ``deadline`` …, and
    ``labels`` and ``supersedes`` of `Querymill.submit`. Both can be given for one call as well:
    ``retriever.invoke(question, k=3, labels={"session": "42"})``. So can the messages before the question:
    ``retriever.invoke("and in 2021?", history=messages)``.

    A document has an ``id`` and the text. Its metadata holds ``score``, ``kind``, ``collection``, ``document``, what
    the kind knows (``page``, ``title`` …), what was ingested with it, and ``degraded``: what the search lacked.

    Without a ``client``, ``url`` and ``api_key`` name a gateway, or REDIS_URL says where the board is. `AsyncQuerymill`
    as ``async_client`` serves `ainvoke`. With a ``client`` alone, `ainvoke` waits in a thread.

    Raises:
        pydantic.ValidationError: A field breaks a rule; the error names both.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    collection: str | None = None
    kind: str = "reports"
    k: int = 4
    search_kwargs: dict[str, Any] = Field(default_factory=dict)
    client: Querymill | None = Field(default=None, exclude=True, repr=False)
    async_client: AsyncQuerymill | None = Field(default=None, exclude=True, repr=False)
    redis_url: SecretStr | None = None
    url: str | None = None
    api_key: SecretStr | None = None

    _searching: Searching = PrivateAttr()

    @model_validator(mode="after")
    def _is_checked_before_the_first_question(self) -> Self:
        place = Place(_plain(self.redis_url), self.url, _plain(self.api_key))
        clients = Clients(self.client, self.async_client, place)
        self._searching = Searching(self.kind, self.collection, self.search_kwargs, clients, "k")
        self._searching.check(self.k)
        return self

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002  # LangChain itself tells of start, end and error
        k: int | None = None,
        **fields: Any,
    ) -> list[Document]:
        request = self._searching.request(query, self.k if k is None else k, fields)
        return [_document(passage) for passage in self._searching.run(request)]

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
        **fields: Any,
    ) -> list[Document]:
        request = self._searching.request(query, self.k if k is None else k, fields)
        return [_document(passage) for passage in await self._searching.run_async(request)]


def _plain(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()


def _document(passage: RetrievedPassage) -> Document:
    return Document(id=passage.id, page_content=passage.text, metadata={**passage.metadata, "score": passage.score})
