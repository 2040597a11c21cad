"""What a client does with stored documents: list, show, export and drop them, the same for every kind."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

from pydantic import ValidationError

from querymill.client.job import AsyncJob, Job
from querymill.client.transport import AsyncTransport, Transport, by_collection
from querymill_shared.contracts.documents import (
    DocumentList,
    DropDocuments,
    DropResult,
    ExportDocuments,
    ListDocuments,
    ShowDocument,
)
from querymill_shared.contracts.errors import InvalidRequest
from querymill_shared.contracts.fields import Contract
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.results import Asks, JobResult

R = TypeVar("R", bound=JobResult)
A = TypeVar("A", bound=Contract)

#: How long to wait for a page, in seconds: for as long as its job may take, and a little.
PAGE_S: Final = 40.0

Conditions = Mapping[str, Any]


class _Submits(Protocol):
    _transport: Transport

    def submit(self, request: Asks[R]) -> Job[R]: ...


def _asking(kind: type[A], **fields: Any) -> A:
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise InvalidRequest.of(error) from None


def _fetched(job: Job[R], timeout: float | None) -> R:
    """Return a result, and delete its job: it holds the documents themselves."""
    try:
        return job.result(timeout)
    finally:
        job.release()


class DocumentCalls:
    """The calls of `Querymill` about stored documents. ``retriever`` names the kind, such as messages."""

    def list(
        self: _Submits,
        retriever: Retriever,
        *,
        collection: str,
        filter: Conditions | None = None,  # noqa: A002  # the field's name on the wire
        limit: int = 100,
        cursor: str | None = None,
    ) -> DocumentList:
        """List the documents that pass a filter, a page at a time, with the exact number of all.

        The next page begins at the ``cursor`` of the page before it.

        Raises:
            InvalidRequest: A field breaks a rule; the error names both.
            JobFailed: The store could not answer.
        """
        request = _asking(
            ListDocuments, retriever=retriever, collection=collection, filter=filter or {}, limit=limit, cursor=cursor
        )
        return _fetched(self.submit(request), PAGE_S)

    def show(self: _Submits, retriever: Retriever, document: str, *, collection: str) -> Mapping[str, Any]:
        """Return one document whole, as ingestion reads it.

        Raises:
            JobFailed: It is not stored.
        """
        request = _asking(ShowDocument, retriever=retriever, collection=collection, id=document)
        return _fetched(self.submit(request), PAGE_S).document

    def export(
        self: _Submits,
        retriever: Retriever,
        *,
        collection: str,
        filter: Conditions | None = None,  # noqa: A002  # the field's name on the wire
    ) -> Iterator[Mapping[str, Any]]:
        """Yield all documents that pass a filter, whole, in the order of their ids. One page is held at a time.

        Documents that are ingested or dropped while it runs may be in it or not.

        Raises:
            JobFailed: The store could not answer.
        """
        request: ExportDocuments | None = _asking(
            ExportDocuments, retriever=retriever, collection=collection, filter=filter or {}
        )
        while request is not None:
            page = _fetched(self.submit(request), PAGE_S)
            yield from page.documents
            request = None if page.cursor is None else request.model_copy(update={"cursor": page.cursor})

    def drop(
        self: _Submits,
        retriever: Retriever,
        *,
        collection: str,
        ids: Sequence[str] = (),
        filter: Conditions | None = None,  # noqa: A002  # the field's name on the wire
        everything: bool = False,
        timeout: float | None = None,
    ) -> DropResult:
        """Drop documents for good: by ids, by a filter, or everything that the collection holds of the kind.

        With them go their words, vectors and ranks, and the jobs and cached replies that can hold their texts. What was
        submitted before and is stored later stays forgotten.

        Raises:
            InvalidRequest: A field breaks a rule.
            StillRunning: It has not ended after ``timeout`` seconds. The job continues.
        """
        request = _asking(
            DropDocuments,
            retriever=retriever,
            collection=collection,
            ids=tuple(ids),
            filter=filter or {},
            everything=everything,
        )
        return self.submit(request).result(timeout)

    def collections(self: _Submits) -> Mapping[str, Sequence[Retriever]]:
        """Return every collection that can be searched, with the kinds that it holds."""
        return by_collection(self._transport.collections())


class _SubmitsAsync(Protocol):
    _transport: AsyncTransport

    async def submit(self, request: Asks[R]) -> AsyncJob[R]: ...


async def _fetched_async(job: AsyncJob[R], timeout: float | None) -> R:  # as `Job.result`
    try:
        return await job.result(timeout)
    finally:
        await job.release()


class AsyncDocumentCalls:
    """`DocumentCalls`, awaitable."""

    async def list(
        self: _SubmitsAsync,
        retriever: Retriever,
        *,
        collection: str,
        filter: Conditions | None = None,  # noqa: A002  # the field's name on the wire
        limit: int = 100,
        cursor: str | None = None,
    ) -> DocumentList:
        """See `DocumentCalls.list`."""
        request = _asking(
            ListDocuments, retriever=retriever, collection=collection, filter=filter or {}, limit=limit, cursor=cursor
        )
        return await _fetched_async(await self.submit(request), PAGE_S)

    async def show(self: _SubmitsAsync, retriever: Retriever, document: str, *, collection: str) -> Mapping[str, Any]:
        """See `DocumentCalls.show`."""
        request = _asking(ShowDocument, retriever=retriever, collection=collection, id=document)
        return (await _fetched_async(await self.submit(request), PAGE_S)).document

    async def export(
        self: _SubmitsAsync,
        retriever: Retriever,
        *,
        collection: str,
        filter: Conditions | None = None,  # noqa: A002  # the field's name on the wire
    ) -> AsyncIterator[Mapping[str, Any]]:
        """See `DocumentCalls.export`."""
        request: ExportDocuments | None = _asking(
            ExportDocuments, retriever=retriever, collection=collection, filter=filter or {}
        )
        while request is not None:
            page = await _fetched_async(await self.submit(request), PAGE_S)
            for document in page.documents:
                yield document
            request = None if page.cursor is None else request.model_copy(update={"cursor": page.cursor})

    async def drop(
        self: _SubmitsAsync,
        retriever: Retriever,
        *,
        collection: str,
        ids: Sequence[str] = (),
        filter: Conditions | None = None,  # noqa: A002  # the field's name on the wire
        everything: bool = False,
        timeout: float | None = None,  # as `Job.result`
    ) -> DropResult:
        """See `DocumentCalls.drop`."""
        request = _asking(
            DropDocuments,
            retriever=retriever,
            collection=collection,
            ids=tuple(ids),
            filter=filter or {},
            everything=everything,
        )
        return await (await self.submit(request)).result(timeout)

    async def collections(self: _SubmitsAsync) -> Mapping[str, Sequence[Retriever]]:
        """See `DocumentCalls.collections`."""
        return by_collection(await self._transport.collections())
