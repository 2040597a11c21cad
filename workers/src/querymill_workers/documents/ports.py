"""The documents of one retriever, as lists, exports and deletions need them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from querymill_shared.contracts.documents import DocumentCard
from querymill_shared.contracts.filters import Retriever
from querymill_workers.jobs.ports import Common
from querymill_workers.ledger.ports import Ledger, Version


class Documents(Protocol):
    """The stored documents of one retriever. Every call names its collection and sees no other."""

    @property
    def kind(self) -> Retriever: ...

    def list(
        self, collection: str, conditions: Mapping[str, Any], *, limit: int, after: str | None
    ) -> Sequence[DocumentCard]:
        """List up to ``limit`` documents that pass a filter, in the order of their ids by code points, after an id."""
        ...

    def count(self, collection: str, conditions: Mapping[str, Any]) -> int:
        """Count all documents that pass a filter."""
        ...

    def whole(self, collection: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """Return documents by id as JSON values, as ``querymill ingest`` reads them. Those not stored are left out."""
        ...

    def drop(self, collection: str, document: str, version: Version, /) -> int:
        """Drop what was accepted of a document up to a version: rows, words, vectors, ranks. Return how many rows.

        It is called inside a block of the ledger, whose transaction it joins and which has told that the document was
        not written as a whole since. What was added to it since stays.
        """
        ...

    def leave(self, collection: str) -> None:
        """Drop what else is stored of a collection without documents, so that it is not among the collections any more.

        Nothing happens if it has a document. Numbers that caches are keyed by must not begin again.
        """
        ...


class ForgetfulCaches(Protocol):
    """What models returned, cached for the fleet."""

    def forget(self, collection: str) -> None:
        """Drop what is cached for a collection, and cache nothing that is under way."""
        ...


class ForgetfulVectors(Protocol):
    """The vectors of single texts, which belong to no retriever."""

    def holds(self, collection: str) -> bool:
        """Return whether there is a vector of any text of a collection."""
        ...

    def forget(self, collection: str, *, text_ids: Collection[str], texts: Collection[str]) -> None:
        """Drop the vectors of texts with these ids, of parts of documents with these ids, and of equal texts."""
        ...

    def clear(self, collection: str) -> None:
        """Drop all vectors of a collection."""
        ...


class Samples(Protocol):
    """What a store keeps of values to plan its statements by, beside the rows."""

    def renew(self) -> None:
        """Take the samples of all texts and ids again, so that none is of a row that is gone."""
        ...

    def renew_soon(self) -> None:
        """Take them in a moment, once for all who ask until then. Nobody waits for it."""
        ...

    def catch_up(self) -> None:
        """Take them soon if a document was dropped since: the worker that was asked may have ended before it did."""
        ...


class CleaningPorts(Common, Protocol):
    """What is cleaned after rows have been dropped, in addition to the board."""

    @property
    def fleet_caches(self) -> ForgetfulCaches: ...

    @property
    def samples(self) -> Samples: ...


class BurialPorts(Protocol):
    """What is stored of documents, for writes that come after their forgetting."""

    @property
    def documents(self) -> Mapping[Retriever, Documents]: ...

    @property
    def text_vectors(self) -> ForgetfulVectors: ...


class DocumentPorts(CleaningPorts, BurialPorts, Protocol):
    """Everything that the flows of documents may touch."""

    @property
    def ledger(self) -> Ledger: ...
