"""The retriever of LangChain: that library's own suite, every kind, both ways of waiting, and mistakes."""

import asyncio
from typing import Any
from uuid import UUID

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from querymill import AsyncQuerymill, JobCancelled, Querymill, Settings, UnknownCollection
from querymill.adapters.langchain import QuerymillRetriever
from querymill.testing import MemoryMill
from tests.fixtures.deployment import Deployment


@pytest.mark.anyio
class TestStandard(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _collection(self, filings: str, mill: Querymill) -> None:
        self.params = {"collection": filings, "client": mill}

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return QuerymillRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return self.params

    @property
    def retriever_query_example(self) -> str:
        return "revenue of Nordhav"


FOUND = [
    ("reports", "how many ships", "the fleet counts nine ships", {"document": "a1", "page": 1, "region": "north"}),
    ("messages", "rain", "rain in Bergen", {"session_id": "s1", "message_id": "m1", "message_role": "user"}),
    ("conversations", "rain", "rain in Bergen", {"session_id": "s1", "message_number": 1}),
    ("modules", "use vtkConeSource", "run()", {"file_path": "cone.js", "modules": ["vtk.Sources.vtkConeSource"]}),
    (
        "files", "restore_messages", "def restore_messages(channel):\n    return channel.restore()",
        {"path": "src/restore.py", "file_kind": "code"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "query", "text", "metadata"), FOUND)
def test_a_hit_of_each_kind_is_a_document(
    memory: MemoryMill, kind: str, query: str, text: str, metadata: dict[str, Any]
) -> None:
    retriever = QuerymillRetriever(collection="own", kind=kind, client=memory)
    document = retriever.invoke(query)[0]
    assert document.page_content == text
    assert document.id is not None
    assert document.id.startswith(f"{kind}:own/")
    common = {"kind": kind, "collection": "own", "degraded": []}
    assert document.metadata.items() >= (metadata | common).items()
    assert document.metadata["score"] > 0


class Heard(BaseCallbackHandler):
    """What a handler of LangChain is told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def on_retriever_start(self, serialized: object, query: str, *, run_id: UUID, **_: Any) -> None:
        self.told.append(query)

    def on_retriever_end(self, documents: object, *, run_id: UUID, **_: Any) -> None:
        self.told.append(documents)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self.told.append(error)


def test_callbacks_and_fields_of_one_call(memory: MemoryMill) -> None:
    heard = Heard()
    retriever = QuerymillRetriever(collection="own", client=memory, search_kwargs={"filter": {"company": "Nordhav"}})
    found = retriever.invoke("ships", {"callbacks": [heard]}, k=1)
    assert [document.page_content for document in found] == ["the fleet counts nine ships"]
    assert heard.told == ["ships", found]
    assert retriever.invoke("ships", filter={"region": "south"}) == []
    assert len(retriever.batch(["ships", "revenue"])) == 2


def test_everything_is_searched_in_one_ranking(memory: MemoryMill) -> None:
    found = QuerymillRetriever(kind="all", client=memory, k=9).invoke("how many ships in the fleet of Bergen")
    kinds = {document.metadata["kind"]: document for document in reversed(found)}
    assert set(kinds) >= {"reports", "messages", "conversations"}
    assert kinds["reports"].id == "reports:own/a1#c0"
    assert kinds["reports"].metadata.items() >= {"region": "north", "collection": "own", "page": 1}.items()
    scores = [document.metadata["score"] for document in found]
    assert scores == sorted(scores, reverse=True)
    (first, *_) = QuerymillRetriever(kind="all", collection="own", client=memory).invoke("restore_messages")
    assert first.page_content == "def restore_messages(channel):\n    return channel.restore()"


def test_mistakes_are_named(memory: MemoryMill) -> None:
    heard = Heard()
    with pytest.raises(UnknownCollection, match="no reports in 'nowhere'; collections with reports: own") as unknown:
        QuerymillRetriever(collection="nowhere", client=memory).invoke("ships", {"callbacks": [heard]})
    assert heard.told == ["ships", unknown.value]
    for wrong, named in (
        ({"kind": "books"}, "'books' is not one of: reports"),
        ({"k": 0}, "k: must be at least 1"),
        ({"hyde": True}, "hyde"),
        ({"search_kwargs": {"hide": True}}, "hide"),
        ({"search_kwargs": {"filter": {"published_at": "soon"}}}, "published_at: must be a day"),
    ):
        with pytest.raises(ValidationError, match=named):
            QuerymillRetriever(collection="own", client=memory, **wrong)
    with pytest.raises(ValidationError, match="query"):
        QuerymillRetriever(collection="own", client=memory).invoke(" ")


def test_a_secret_address_is_not_shown() -> None:
    written = repr(QuerymillRetriever(collection="own", redis_url="redis://:hidden@127.0.0.1:1/0"))
    assert "hidden" not in written


@pytest.mark.anyio
async def test_coroutines_have_a_client_of_their_own(filings: str, deployment: Deployment) -> None:
    async with AsyncQuerymill(settings=deployment.settings) as client:
        retriever = QuerymillRetriever(collection=filings, async_client=client, k=2)
        nordhav, soup = await retriever.abatch(["revenue of Nordhav in 2022", "tomato soup"])
        assert nordhav[0].metadata.items() >= {"company": "Nordhav", "period": "2022"}.items()
        assert soup[0].page_content == "tomato soup sells well"
        with pytest.raises(ValueError, match="a synchronous call needs a synchronous client"):
            retriever.invoke("tomato soup")


@pytest.mark.anyio
async def test_a_coroutine_that_is_cancelled_cancels_its_job(idle: Settings) -> None:
    async with AsyncQuerymill(settings=idle) as client:
        retriever = QuerymillRetriever(collection="own", async_client=client)
        asked = asyncio.create_task(retriever.ainvoke("ships"))
        while not (jobs := await client.recent()):
            await asyncio.sleep(0.01)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        with pytest.raises(JobCancelled):
            await jobs[0].result(timeout=60)
